# Migrations of ActiveRecord up and down, its schema as it dumps and loads it, and everyday queries through its PostgreSQL adapter.
#
# PostgreSQL 15 prints the same but for the extension plpgsql, which is not there.
require "active_record"
require "stringio"

ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/rukh"))
ActiveRecord::Migration.verbose = false
$stdout.sync = true

def step(name)
  value = yield
  puts "#{name}: #{value.inspect}"
rescue => error
  error = error.cause while error.cause
  puts "#{name}: #{error.class}: #{error.message.lines.first.to_s.strip[0, 150]}"
end

class CreateAirlines < ActiveRecord::Migration[6.1]
  def change
    create_table :airlines do |t|
      t.string :code, null: false, limit: 3, index: { unique: true }
      t.string :name, default: "unknown"
      t.text :notes, comment: "free text"
      t.boolean :active, null: false, default: true
      t.decimal :fee, precision: 10, scale: 2, default: 0
      t.jsonb :extra, default: {}
      t.string :tags, array: true, default: []
      t.uuid :token, default: "gen_random_uuid()"
      t.timestamps
    end
  end
end

class CreateFlights < ActiveRecord::Migration[6.1]
  def change
    create_table :flights, id: :uuid do |t|
      t.references :airline, null: false, foreign_key: { on_delete: :cascade }
      t.integer :number, null: false
      t.bigint :distance
      t.float :load_factor
      t.date :day
      t.time :at
      t.datetime :departed_at, precision: 6
      t.binary :blob
      t.index [:airline_id, :number], name: "flights_by_number"
      t.index :departed_at, order: { departed_at: :desc }, where: "departed_at IS NOT NULL"
    end
    create_join_table :airlines, :flights, table_name: :seen
    add_index :airlines, "upper(notes)", name: "airlines_by_text"
    add_check_constraint :flights, "number > 0", name: "number_is_positive"
  end
end

class ChangeFlights < ActiveRecord::Migration[6.1]
  def up
    add_column :flights, :status, :string, null: false, default: "planned"
    add_column :flights, :gate, :string
    rename_column :flights, :gate, :terminal
    change_column :flights, :number, :bigint
    change_column_null :flights, :day, false, "2024-01-01"
    change_column_default :flights, :status, from: "planned", to: "new"
    change_column_comment :flights, :status, "where it stands"
    add_reference :flights, :partner, foreign_key: { to_table: :airlines }
    rename_index :airlines, "airlines_by_text", "airlines_by_word"
    rename_table :seen, :sightings
    execute "CREATE VIEW long_flights AS SELECT id, number, distance FROM flights WHERE distance > 1000"
  end

  def down
    execute "DROP VIEW long_flights"
    rename_table :sightings, :seen
    rename_index :airlines, "airlines_by_word", "airlines_by_text"
    remove_reference :flights, :partner, foreign_key: { to_table: :airlines }
    change_column_default :flights, :status, "planned"
    change_column_null :flights, :day, true
    change_column :flights, :number, :integer
    remove_column :flights, :terminal
    remove_column :flights, :status
  end
end

class ConcurrentIndex < ActiveRecord::Migration[6.1]
  disable_ddl_transaction!
  def change
    add_index :flights, :day, algorithm: :concurrently
  end
end

class UncheckedRules < ActiveRecord::Migration[6.1]
  def change
    add_foreign_key :sightings, :airlines, validate: false
    validate_foreign_key :sightings, :airlines
    add_check_constraint :flights, "distance >= 0", name: "distance_is_there", validate: false
    validate_check_constraint :flights, name: "distance_is_there"
  end
end

class Airline < ActiveRecord::Base
  has_many :flights
  store_accessor :extra, :alliance
end

class Flight < ActiveRecord::Base
  belongs_to :airline
  validates :number, presence: true
  scope :long, -> { where("distance > ?", 1000) }
end

class LongFlight < ActiveRecord::Base
  self.primary_key = "id"
end

MIGRATIONS = [CreateAirlines, CreateFlights, ChangeFlights, ConcurrentIndex, UncheckedRules]

class Migrator < ActiveRecord::MigrationContext
  def initialize
    super([], ActiveRecord::SchemaMigration)
  end

  def migrations
    MIGRATIONS.each_with_index.map do |made, at|
      proxy = ActiveRecord::MigrationProxy.new(made.name, 20240101000000 + at, nil, "")
      proxy.define_singleton_method(:load_migration) { made.new(name, version) }
      proxy
    end
  end
end

def dump
  out = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, out)
  out.string
end

c = ActiveRecord::Base.connection
step("migrate") { Migrator.new.migrate.size }
step("version") { Migrator.new.current_version }
puts dump
[Airline, Flight, LongFlight].each(&:reset_column_information)
step("columns") { Flight.columns.map { |column| [column.name, column.sql_type, column.null, column.default, column.default_function, column.comment] } }
step("indexes") { c.indexes("flights").map { |index| [index.name, index.columns, index.unique, index.where, index.orders] } }
step("foreign keys") { c.foreign_keys("flights").map { |key| [key.to_table, key.column, key.on_delete] } }
step("checks") { c.check_constraints("flights").map { |check| [check.name, check.expression] } }
step("tables") { c.tables.sort }
step("views") { c.views.sort }
step("primary keys") { %w[airlines flights sightings].map { |table| c.primary_keys(table) } }
step("comments") { [c.table_comment("flights")] }
step("create") do
  lh = Airline.create!(code: "LH", name: "Lufthansa", extra: { "alliance" => "Star" }, tags: %w[a b])
  Airline.create!(code: "AF", name: "Air France", fee: "12.50")
  5.times do |n|
    lh.flights.create!(number: n + 1, distance: n * 700, day: Date.new(2024, 5, n + 1), departed_at: Time.utc(2024, 5, n + 1, 8, 0, 0.25r), load_factor: 0.5, at: "12:30:15", blob: "\x00\xff".b)
  end
  [Airline.count, Flight.count]
end
step("read") { Airline.find_by(code: "LH").attributes.except("token", "created_at", "updated_at", "id") }
step("flight") { Flight.find_by(number: 2).attributes.except("id", "airline_id") }
step("where") { Flight.where(number: [1, 3, 9]).where.not(distance: nil).order(number: :desc).pluck(:number, :distance) }
step("json") { Airline.where("extra @> ?", { alliance: "Star" }.to_json).pluck(:code) }
step("array") { Airline.where("? = ANY(tags)", "b").pluck(:code) }
step("joins") { Flight.joins(:airline).where(airlines: { code: "LH" }).group("airlines.name").sum(:distance) }
step("includes") { Airline.includes(:flights).order(:code).map { |airline| [airline.code, airline.flights.size] } }
step("left join") { Airline.left_joins(:flights).group(:code).order(:code).count("flights.id") }
step("calculations") { [Flight.average(:distance), Flight.minimum(:day), Flight.maximum(:departed_at), Flight.sum(:load_factor)] }
step("unique") { Airline.create!(code: "LH") }
step("check") { Flight.new(airline: Airline.order(:id).first, number: -1, day: "2024-01-01").save!(validate: false) }
step("foreign key") { Flight.insert!({ airline_id: 999, number: 1, day: "2024-01-01" }).rows.size }
step("not null") { Flight.insert!({ airline_id: Airline.order(:id).first.id, number: 1, day: nil }).rows.size }
step("insert all") { Airline.insert_all([{ code: "BA", created_at: Time.now, updated_at: Time.now }, { code: "LH", created_at: Time.now, updated_at: Time.now }]).rows.size }
step("upsert all") { Airline.upsert_all([{ code: "BA", name: "British", created_at: Time.now, updated_at: Time.now }], unique_by: :code); Airline.find_by(code: "BA").name }
step("update all") { Flight.where("number > 3").update_all("distance = distance + 1") }
step("transaction") do
  Airline.transaction do
    Airline.create!(code: "XX")
    Airline.transaction(requires_new: true) { Airline.create!(code: "YY"); raise ActiveRecord::Rollback }
    Airline.lock.find_by(code: "XX").update!(name: "locked")
  end
  Airline.order(:code).pluck(:code, :name)
end
step("deadlock free lock") { Airline.transaction { Airline.lock("FOR UPDATE SKIP LOCKED").order(:id).limit(1).pluck(:code) } }
step("find each") { Flight.order(:number).in_batches(of: 2).map(&:size).sum }
step("exists") { [Flight.exists?(number: 3), Flight.exists?(number: 33)] }
step("distinct") { Flight.distinct.order(:load_factor).pluck(:load_factor) }
step("having") { Flight.group(:airline_id).having("count(*) > 2").count.values }
step("view") { LongFlight.order(:number).pluck(:number, :distance) }
step("subquery") { Airline.where(id: Flight.long.select(:airline_id)).pluck(:code) }
step("explain") { Flight.where(number: 1).explain.lines.size > 1 }
step("reload") { a = Airline.order(:id).first; a.touch; a.reload.changed? }
step("delete") { [Airline.find_by(code: "LH").destroy.destroyed?, Flight.count] }
step("truncate") { c.truncate_tables("airlines", "flights", "sightings"); Airline.count }
step("down") { Migrator.new.migrate(0).size }
step("tables") { c.tables.sort }
step("again") { Migrator.new.migrate.size }
step("statement cache") { 3.times.map { Airline.where(code: "LH").count }.sum }
step("load schema") do
  text = dump
  Migrator.new.migrate(0)
  ActiveRecord::Schema.verbose = false
  eval(text)
  dump == text
end
