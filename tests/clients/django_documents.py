# Django: fields of documents, durations and arrays, and their lookups.
import datetime, django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.postgres"],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "rukh", "USER": "tester", "HOST": "127.0.0.1", "PORT": "5432"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", SECRET_KEY="x", USE_TZ=True)
django.setup()
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import Avg, Count, F, Max, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import JSONObject
class Reading(models.Model):
    name = models.TextField()
    data = models.JSONField(null=True)
    took = models.DurationField(null=True)
    tags = ArrayField(models.TextField(), default=list)
    class Meta:
        app_label = "readings"
        indexes = [models.Index(KT("data__user"), "name", name="reading_user")]
with connection.schema_editor() as editor: editor.create_model(Reading)
def add(name, data, took=None, tags=()): Reading.objects.create(name=name, data=data, took=took, tags=list(tags))
add("a", {"user": "ada", "n": 1, "tags": ["x", "y"], "deep": {"k": [1, {"z": None}]}}, datetime.timedelta(days=1, hours=2), ["x", "y"])
add("b", {"user": "bob", "n": 2.5, "tags": []}, datetime.timedelta(minutes=5), ["y"])
add("c", [1, 2, "three"])
add("d", None, None, ["it's", 'a "quote"', ""])
Reading.objects.bulk_create([Reading(name=f"f{i}", data={"n": i, "user": f"u{i % 3}"}) for i in range(5)])
by_name = Reading.objects.order_by("name")
def names(label, *conditions, **more): print(label, list(by_name.filter(*conditions, **more).values_list("name", flat=True)))
print(list(by_name.values_list("name", "data", "took", "tags")))
names("user", data__user="ada"); names("number", data__n__gt=1); names("deep", data__deep__k__0=1)
names("null", data__deep__k__1__z=None); names("no key", data__tags__isnull=True)
names("contains", data__contains={"user": "bob"}); names("contained", data__contained_by={"user": "u0", "n": 0, "q": 1})
names("key", data__has_key="tags"); names("keys", data__has_keys=["tags", "n"]); names("any", data__has_any_keys=["tags", "z"])
names("text", data__user__icontains="A"); names("in", data__user__in=["ada", "u1"]); names("equal", data=[1, 2, "three"])
names("tag", tags__contains=["y"]); names("tags", tags__overlap=["x", "y"]); names("within", tags__contained_by=["y", "z"])
names("first", tags__0="y"); names("length", tags__len=3); names("all", tags=["y"]); names("longer", took__gt=datetime.timedelta(hours=1))
print(list(Reading.objects.values("data__user").annotate(n=Count("id")).order_by("data__user")))
print(list(by_name.annotate(u=KT("data__user")).values_list("u", flat=True)))
print(list(by_name.annotate(o=JSONObject(n="name", d="data")).values_list("o", flat=True)[:2]))
print(Reading.objects.aggregate(Sum("took"), Avg("took"), Max("took")))
print(list(by_name.filter(took__isnull=False).annotate(t=F("took") + datetime.timedelta(minutes=1)).values_list("t", flat=True)))
print(by_name.filter(name="a").update(data={"changed": True}, tags=["z"]), Reading.objects.filter(name="a").values_list("data", "tags")[0])
with connection.cursor() as cursor:
    print([(c.name, c.type_code, c.null_ok) for c in connection.introspection.get_table_description(cursor, "readings_reading")])
    print(sorted((name, known["columns"], known["index"]) for name, known in connection.introspection.get_constraints(cursor, "readings_reading").items()))
