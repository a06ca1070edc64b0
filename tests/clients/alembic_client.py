# Alembic: a migration is one transaction, and so is the way back.
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
e=sa.create_engine("postgresql+psycopg://tester@127.0.0.1:5432/rukh")
def migrate(steps, fails=False):
    try:
        with e.begin() as c:
            steps(Operations(MigrationContext.configure(c)), c)
            if fails: raise RuntimeError("taken back")
    except RuntimeError as error:
        print(error)
def first(op, c):
    op.create_table("al_authors", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(10), nullable=False))
    op.create_table("al_books", sa.Column("id", sa.Integer, primary_key=True), sa.Column("author", sa.Integer, sa.ForeignKey("al_authors.id", ondelete="CASCADE")))
    op.add_column("al_authors", sa.Column("extra", sa.Integer, server_default="3"))
    op.create_index("al_by_author", "al_books", ["author"])
    op.bulk_insert(sa.table("al_authors", sa.column("id"), sa.column("name")), [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}])
    op.bulk_insert(sa.table("al_books", sa.column("id"), sa.column("author")), [{"id": 10, "author": 1}, {"id": 11, "author": 2}])
def second(op, c):
    op.alter_column("al_authors", "name", type_=sa.String(50), nullable=True)
    op.create_unique_constraint("al_one_name", "al_authors", ["name"])
    op.create_foreign_key("al_self", "al_books", "al_authors", ["id"], ["id"], postgresql_not_valid=True, deferrable=True, initially="DEFERRED")
    op.create_check_constraint("al_extra", "al_authors", "extra > 0")
    op.alter_column("al_authors", "extra", new_column_name="more")
    op.rename_table("al_books", "al_volumes")
def shown():
    i=sa.inspect(e)
    for t in sorted(i.get_table_names()):
        if t.startswith("al_"):
            keys=sorted((k["name"], k["constrained_columns"], k["referred_table"], k["options"]) for k in i.get_foreign_keys(t))
            print(t, [(c["name"], str(c["type"]), c["nullable"]) for c in i.get_columns(t)], keys, sorted(u["name"] for u in i.get_unique_constraints(t)))
migrate(first, fails=True)
shown()
migrate(first)
shown()
migrate(second, fails=True)
shown()
migrate(second)
shown()
with e.begin() as c:
    c.execute(sa.text("ALTER TABLE al_volumes DROP CONSTRAINT al_self"))
    c.execute(sa.text("DELETE FROM al_authors WHERE id = 1"))
    print(c.execute(sa.text("SELECT id, author FROM al_volumes")).all(), c.execute(sa.text("SELECT id, name, more FROM al_authors")).all())
try:
    with e.begin() as c:
        c.execute(sa.text("INSERT INTO al_volumes VALUES (12, 99)"))
except sa.exc.IntegrityError as error:
    print(error.orig.sqlstate, error.orig.diag.message_primary, error.orig.diag.message_detail)
migrate(lambda op, c: [op.drop_table("al_volumes"), op.drop_table("al_authors")])
shown()
