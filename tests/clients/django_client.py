# Django: the migrations of its own applications, and rows by its ORM.
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages", "django.contrib.sessions", "django.contrib.sites"],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "rukh", "USER": "tester", "HOST": "127.0.0.1", "PORT": "5432"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", SECRET_KEY="x", SITE_ID=1, USE_TZ=True)
django.setup()
from django.core.management import call_command
from django.db import connection, transaction, IntegrityError
from django.db.models import Count
call_command("migrate", verbosity=0)
from django.contrib.auth.models import Group, Permission, User
from django.contrib.admin.models import LogEntry
print(sorted(connection.introspection.table_names()))
print(Permission.objects.count(), list(Permission.objects.filter(content_type__app_label="auth", codename__startswith="add").order_by("codename").values_list("codename", "content_type__model")))
ada=User.objects.create_user("ada", password="secret"); bob=User.objects.create_user("bob")
editors=Group.objects.create(name="editors"); editors.permissions.set(Permission.objects.filter(codename="add_user")); editors.user_set.add(ada, bob)
print(list(Group.objects.annotate(n=Count("user")).values_list("name", "n")), User.objects.get(username="ada").has_perm("auth.add_user"))
try:
    with transaction.atomic():
        Group.objects.create(name="lost"); LogEntry.objects.create(user_id=99, object_repr="", action_flag=1)
        connection.check_constraints()
except IntegrityError as error:
    print(str(error).splitlines()[0])
print(Group.objects.count())
ada.delete(); print(User.groups.through.objects.count())
try:
    with transaction.atomic():
        with connection.cursor() as c: c.execute("DELETE FROM auth_user WHERE username = 'bob'")
        print("later")
except IntegrityError as error:
    print(str(error).splitlines()[0])
call_command("migrate", "admin", "zero", verbosity=0); call_command("migrate", "sessions", "zero", verbosity=0)
print(sorted(connection.introspection.table_names()))
