// Hibernate: makes a schema, fills it, asks HQL of it, changes it, validates it.
import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import org.hibernate.annotations.*;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

public class Orm {
  public enum State { OPEN, DONE }

  @Embeddable public static class Address { String street; Integer zip; }

  @jakarta.persistence.Entity(name = "Person")
  @jakarta.persistence.Table(name = "person",
      indexes = @jakarta.persistence.Index(name = "ix_name", columnList = "name, born DESC"),
      uniqueConstraints = @UniqueConstraint(name = "uq_email", columnNames = "email"))
  @Inheritance(strategy = InheritanceType.JOINED)
  public static class Person {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @Column(nullable = false, length = 80) String name;
    String email;
    LocalDate born;
    LocalTime wakes;
    LocalDateTime seen;
    OffsetDateTime moved;
    Instant stamp;
    @Column(precision = 12, scale = 3) BigDecimal money;
    Double ratio;
    Float small;
    Short s;
    Byte b;
    boolean active;
    Character letter;
    @Enumerated(EnumType.STRING) State state;
    @Enumerated State number;
    byte[] data;
    String text;
    UUID token;
    Duration lasts;
    @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> json;
    @JdbcTypeCode(SqlTypes.ARRAY) int[] numbers;
    List<String> labels;
    @Embedded Address home;
    @ElementCollection Set<String> tags = new HashSet<>();
    @OneToMany(mappedBy = "owner", cascade = jakarta.persistence.CascadeType.ALL, orphanRemoval = true) List<Order> orders = new ArrayList<>();
    @ManyToMany Set<Club> clubs = new HashSet<>();
    @Version int version;
    @Formula("length(name)") int nameLength;
  }

  @jakarta.persistence.Entity(name = "Employee") public static class Employee extends Person { String job; @ManyToOne(fetch = FetchType.LAZY) Person boss; }

  @jakarta.persistence.Entity(name = "Order") @jakarta.persistence.Table(name = "orders") public static class Order {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
    @ManyToOne(optional = false) Person owner;
    int amount;
    @CreationTimestamp LocalDateTime made;
  }

  @jakarta.persistence.Entity(name = "Club") public static class Club { @Id @GeneratedValue(strategy = GenerationType.UUID) UUID id; String name; }

  @Embeddable public static class Place implements java.io.Serializable {
    String row;
    int seat;
    public boolean equals(Object other) { return other instanceof Place place && place.row.equals(row) && place.seat == seat; }
    public int hashCode() { return seat; }
  }

  @jakarta.persistence.Entity(name = "Ticket") public static class Ticket { @EmbeddedId Place place; String holder; @Check(constraints = "price > 0") int price; }

  static final List<String> QUERIES = List.of(
      "select p.name from Person p where p.born > :d order by p.born desc, p.name",
      "select p.name from Person p join p.tags t where t = 't1' and p.born > :d order by p.name",
      "select p.name from Employee p where exists (select 1 from Order o where o.owner = p and o.amount > 10) and p.born > :d order by p.id",
      "select concat(p.name, p.home.street) from Person p where p.clubs is not empty and p.born > :d and year(p.born) = 1990 order by p.name",
      "select p.name from Person p where array_contains(p.numbers, 6) and p.born > :d",
      "select p from Person p left join fetch p.orders where p.born > :d order by p.id",
      "select upper(p.name) || cast(p.s as String) from Person p where p.state = State.DONE and p.money between 10 and 100 and p.born > :d order by p.id",
      "select p.letter, count(*) from Person p where p.born > :d group by p.letter having count(*) > 0 order by 1",
      "select p.name, row_number() over (partition by p.active order by p.id) from Person p where p.born > :d order by p.id",
      "with w as (select p.name as n from Person p where p.born > :d) select n from w order by n",
      "select extract(day from p.seen) + p.s from Person p where p.born > :d order by p.id",
      "select p.name from Person p where p.lasts > 100 second and p.born > :d order by p.id",
      "select p.seen + 1 day from Person p where p.born > :d order by p.id",
      "select trim(both 'p' from p.name), substring(p.name, 1, 2), locate('1', p.name), coalesce(p.email, 'none'), nullif(p.s, 3), abs(p.s), mod(p.s, 4), round(p.money, 1),"
          + " floor(p.ratio), sign(p.s), left(p.name, 1), lpad(p.name, 5, '*'), replace(p.name, 'p', 'q') from Person p where p.born > :d order by p.id");

  static Configuration configuration(String url, String action) {
    Configuration c = new Configuration();
    for (Class<?> entity : List.of(Person.class, Employee.class, Order.class, Club.class, Ticket.class)) c.addAnnotatedClass(entity);
    c.setProperty("hibernate.connection.url", url).setProperty("hibernate.connection.username", "tester").setProperty("hibernate.connection.password", "");
    c.setProperty("hibernate.hbm2ddl.auto", action).setProperty("hibernate.hbm2ddl.halt_on_error", "true").setProperty("hibernate.default_schema", "hib");
    return c.setProperty("hibernate.hbm2ddl.create_namespaces", "true").setProperty("hibernate.jdbc.batch_size", "20");
  }

  static Person person(int i) {
    Person p = i % 3 == 0 ? new Employee() : new Person();
    p.name = "p" + i;
    p.email = i + "@x";
    p.born = LocalDate.of(1990, 1, 1 + i % 28);
    p.wakes = LocalTime.of(7, i);
    p.seen = LocalDateTime.of(2024, 1, 1, 0, i);
    p.moved = OffsetDateTime.of(p.seen, ZoneOffset.UTC);
    p.stamp = p.moved.toInstant();
    p.money = new BigDecimal("12.345").multiply(BigDecimal.valueOf(i));
    p.ratio = i / 3.0;
    p.small = i / 4f;
    p.s = (short) i;
    p.b = (byte) i;
    p.active = i % 2 == 0;
    p.letter = (char) ('a' + i % 26);
    p.state = State.DONE;
    p.number = State.OPEN;
    p.data = new byte[] {1, 2, (byte) i};
    p.text = "text " + i;
    p.token = new UUID(0, i);
    p.lasts = Duration.ofSeconds(90 + i);
    p.json = Map.of("n", i, "list", List.of(1, 2));
    p.numbers = new int[] {i, 2};
    p.labels = List.of("x", "y" + i);
    p.home = new Address();
    p.home.street = "Main";
    p.home.zip = i;
    p.tags.add("t" + i % 4);
    Order o = new Order();
    o.owner = p;
    o.amount = i;
    p.orders.add(o);
    return p;
  }

  static String shown(Object row) { return row instanceof Object[] all ? Arrays.toString(all) : row instanceof Person p ? p.name + " " + p.orders.size() : String.valueOf(row); }

  public static void main(String[] args) {
    try (var factory = configuration(args[0], "create-only").buildSessionFactory()) {
      factory.inTransaction(s -> {
        Club club = new Club();
        club.name = "chess";
        s.persist(club);
        for (int i = 0; i < 30; i++) {
          Person p = person(i);
          p.clubs.add(club);
          s.persist(p);
        }
        Ticket t = new Ticket();
        t.place = new Place();
        t.place.row = "A";
        t.place.seat = 7;
        t.price = 3;
        s.persist(t);
      });
      factory.inTransaction(s -> {
        System.out.println("amount " + s.createQuery("select count(*), sum(o.amount), avg(o.amount) from Order o", Object[].class).getSingleResult()[1]);
        for (String hql : QUERIES) {
          var query = s.createQuery(hql, Object.class).setParameter("d", LocalDate.of(1990, 1, 5)).setMaxResults(4);
          System.out.println(hql + "\n    " + query.getResultList().stream().map(Orm::shown).toList());
        }
      });
      factory.inTransaction(s -> {
        Person p = s.createQuery("from Person p where p.name = 'p7'", Person.class).getSingleResult();
        System.out.println(String.join(" ", p.name, "" + p.born, "" + p.wakes, "" + p.seen, "" + p.money, "" + p.ratio, "" + p.data.length, p.text, "" + p.token, "" + p.lasts,
            "" + p.json.get("n"), Arrays.toString(p.numbers), "" + p.labels, "" + p.home.zip, "" + p.tags, "" + p.orders.size(), "" + p.nameLength, "" + p.letter));
        p.money = new BigDecimal("1.5");
        p.tags.add("more");
        p.orders.clear();
        System.out.println("orders " + s.createMutationQuery("update Order o set o.amount = o.amount + 1 where o.owner.id < 5").executeUpdate());
        System.out.println("tickets " + s.createMutationQuery("delete from Ticket t where t.place.seat = 7").executeUpdate());
        System.out.println("employees " + s.createMutationQuery("update Employee e set e.job = 'boss', e.email = e.name where e.id < 8").executeUpdate());
        s.lock(p, LockModeType.PESSIMISTIC_WRITE);
        System.out.println("locked " + s.createNativeQuery("select p.name from hib.person p where p.id = 3 for update skip locked", String.class).getResultList());
      });
    }
    for (String action : List.of("validate", "update", "validate", "create-drop")) {
      try (var factory = configuration(args[0], action).buildSessionFactory()) { System.out.println("schema " + action + " done"); }
    }
  }
}
