# SQLAlchemy 2: create_all, reflection, an ORM round trip, on_conflict.
import datetime, decimal
from sqlalchemy import *
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, Session
from sqlalchemy.dialects.postgresql import insert
url="postgresql+psycopg://tester@127.0.0.1:5432/rukh"
e=create_engine(url)
ddl=e.execution_options(isolation_level="AUTOCOMMIT")
class Base(DeclarativeBase): pass
class User(Base):
    __tablename__="sa_users"
    id: Mapped[int]=mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]=mapped_column(String(30), nullable=False, unique=True)
    balance: Mapped[decimal.Decimal]=mapped_column(Numeric(10,2))
    made: Mapped[datetime.datetime]=mapped_column(DateTime(timezone=True))
    __table_args__=(Index("sa_users_made","made","balance"),)
Base.metadata.drop_all(ddl)
Base.metadata.create_all(ddl)
Base.metadata.create_all(ddl)
t=datetime.datetime(2024,1,2,3,4,5,tzinfo=datetime.timezone.utc)
with Session(e) as s:
    s.add_all([User(id=i,name=f"u{i}",balance=decimal.Decimal("1.50")*i,made=t) for i in range(1,4)])
    s.commit()
with Session(e) as s:
    u=s.get(User,2); u.balance=decimal.Decimal("99.99"); s.commit()
    st=insert(User).values(id=2,name="u2",balance=7,made=t)
    st=st.on_conflict_do_update(index_elements=[User.id],set_={"balance":st.excluded.balance})
    s.execute(st); s.commit()
    print([(u.id,u.name,u.balance) for u in s.scalars(select(User).where(User.name.in_(["u1","u2"])).order_by(User.id))])
    s.delete(s.get(User,3)); s.commit()
    print(s.scalar(select(func.count()).select_from(User)))
i=inspect(e)
print(i.get_table_names(), i.get_view_names())
for c in i.get_columns("sa_users"): print(c["name"],c["type"],c["nullable"],c["default"])
print(i.get_pk_constraint("sa_users"))
print(i.get_indexes("sa_users"))
print(i.get_unique_constraints("sa_users"))
print(i.get_foreign_keys("sa_users"), i.get_check_constraints("sa_users"), i.get_table_comment("sa_users"))
m=MetaData(); m.reflect(e)
print(sorted(m.tables), m.tables["sa_users"].primary_key.columns.keys())
# What else an inspector asks.
with ddl.connect() as c:
    c.execute(text("CREATE SCHEMA other"))
    c.execute(text("CREATE TABLE other.things (a int, b text, c numeric(8,3) DEFAULT 1.5, PRIMARY KEY (b, a), CONSTRAINT small CHECK (a < 100))"))
    c.execute(text("CREATE UNIQUE INDEX things_c ON other.things (c) WHERE c > 0"))
    c.execute(text("CREATE VIEW other.names AS SELECT b FROM other.things"))
    c.execute(text("CREATE SEQUENCE other.numbers"))
    c.execute(text("COMMENT ON TABLE other.things IS 'things'"))
    c.execute(text("COMMENT ON COLUMN other.things.b IS 'its name'"))
i=inspect(e)
print(i.default_schema_name, i.get_schema_names())
print(i.get_table_names(schema="other"), i.get_view_names(schema="other"), i.get_materialized_view_names(schema="other"))
print(i.get_sequence_names(), i.get_sequence_names(schema="other"), i.has_sequence("numbers", schema="other"))
print(i.has_table("things", schema="other"), i.has_table("things"), i.has_schema("other"), i.has_index("things", "things_c", schema="other"))
print(i.get_check_constraints("things", schema="other"))
print(i.get_table_comment("things", schema="other"), [(c["name"], str(c["type"]), c["default"], c["comment"]) for c in i.get_columns("things", schema="other")])
print(i.get_pk_constraint("things", schema="other"), i.get_unique_constraints("things", schema="other"))
print(i.get_indexes("things", schema="other"))
print(i.get_view_definition("names", schema="other"))
print(i.get_enums(), i.get_domains(), i.get_foreign_table_names(), i.get_temp_table_names())
print(sorted(i.get_multi_columns(schema="other")), i.get_multi_foreign_keys(schema="other"), i.get_sorted_table_and_fkc_names())
print(i.get_table_oid("things", schema="other") > 0, i.get_table_options("things", schema="other"))
m=MetaData(); m.reflect(e, schema="other", views=True)
print(sorted(m.tables), [str(x) for x in m.tables["other.things"].columns])
