//! The tables of `pg_catalog`: their names and columns.
//!
//! Queries on them are bound by this list alone; `rows` makes the rows of those that have any.

/// A table of `pg_catalog`.
#[derive(Debug)]
pub(crate) struct SystemTable {
    pub(crate) name: &'static str,
    /// The columns as PostgreSQL's manual lists them: `oid oid, relname name, relacl text[]`.
    pub(crate) columns: &'static str,
    /// Whether it never has rows: what it describes does not exist here. Clients join with it, so its columns are all there.
    pub(crate) is_empty: bool,
}

impl SystemTable {
    /// Returns the names of the columns.
    pub(crate) fn column_names(&self) -> impl Iterator<Item = &'static str> {
        let columns = self.columns.split(',');
        columns.filter_map(|column| column.split_whitespace().next())
    }
}

/// Returns all tables of `pg_catalog`.
pub(crate) fn system_tables() -> impl Iterator<Item = &'static SystemTable> {
    TABLES.iter()
}

/// Returns a table of `pg_catalog`.
pub(crate) fn system_table(name: &str) -> Option<&'static SystemTable> {
    system_tables().find(|table| table.name == name)
}

/// The table that stands for `pg_get_keywords()`.
pub(crate) const KEYWORDS: &str = "pg_get_keywords";

const fn table(name: &'static str, columns: &'static str) -> SystemTable {
    SystemTable {
        name,
        columns,
        is_empty: false,
    }
}

const fn empty(name: &'static str, columns: &'static str) -> SystemTable {
    SystemTable {
        name,
        columns,
        is_empty: true,
    }
}

const ROLE: &str = "rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, \
    rolcanlogin bool, rolreplication bool, rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz, \
    rolbypassrls bool, rolconfig text[], oid oid";

const TABLES: &[SystemTable] = &[
    table("pg_am", "oid oid, amname name, amhandler regproc, amtype char"),
    table("pg_attrdef", "oid oid, adrelid oid, adnum int2, adbin text"),
    table(
        "pg_attribute",
        "attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, attnum int2, attndims int4, \
         attcacheoff int4, atttypmod int4, attbyval bool, attalign char, attstorage char, attcompression char, \
         attnotnull bool, atthasdef bool, atthasmissing bool, attidentity char, attgenerated char, \
         attisdropped bool, attislocal bool, attinhcount int4, attcollation oid, attacl text[], \
         attoptions text[], attfdwoptions text[], attmissingval text",
    ),
    table(
        "pg_aggregate",
        "aggfnoid oid, aggkind char, aggnumdirectargs int2",
    ),
    table(
        "pg_auth_members",
        "roleid oid, member oid, grantor oid, admin_option bool",
    ),
    table("pg_authid", ROLE),
    table(
        "pg_cast",
        "oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, castmethod char",
    ),
    table(
        "pg_class",
        "oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid, \
         relfilenode oid, reltablespace oid, relpages int4, reltuples float4, relallvisible int4, \
         reltoastrelid oid, relhasindex bool, relisshared bool, relpersistence char, relkind char, \
         relnatts int2, relchecks int2, relhasrules bool, relhastriggers bool, relhassubclass bool, \
         relrowsecurity bool, relforcerowsecurity bool, relispopulated bool, relreplident char, \
         relispartition bool, relrewrite oid, relfrozenxid xid, relminmxid xid, relacl text[], \
         reloptions text[], relpartbound text",
    ),
    table(
        "pg_operator",
        "oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, oprleft oid, oprright oid, \
         oprresult oid, oprcode oid",
    ),
    table(
        "pg_collation",
        "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, collisdeterministic bool, \
         collencoding int4, collcollate text, collctype text, colliculocale text, collversion text",
    ),
    table(
        "pg_constraint",
        "oid oid, conname name, connamespace oid, contype char, condeferrable bool, condeferred bool, \
         convalidated bool, conrelid oid, contypid oid, conindid oid, conparentid oid, confrelid oid, \
         confupdtype char, confdeltype char, confmatchtype char, conislocal bool, coninhcount int4, \
         connoinherit bool, conkey int2[], confkey int2[], conpfeqop oid[], conppeqop oid[], conffeqop oid[], \
         confdelsetcols int2[], conexclop oid[], conbin text",
    ),
    table(
        "pg_database",
        "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datistemplate bool, \
         datallowconn bool, datconnlimit int4, datfrozenxid xid, datminmxid xid, dattablespace oid, \
         datcollate text, datctype text, daticulocale text, datcollversion text, datacl text[]",
    ),
    table(
        "pg_depend",
        "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, deptype char",
    ),
    table(
        "pg_description",
        "objoid oid, classoid oid, objsubid int4, description text",
    ),
    table(
        KEYWORDS,
        "word text, catcode char, barelabel bool, catdesc text, baredesc text",
    ),
    table(
        "pg_cursors",
        "name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time timestamptz",
    ),
    table("pg_group", "groname name, grosysid oid, grolist oid[]"),
    table(
        "pg_index",
        "indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2, indisunique bool, \
         indnullsnotdistinct bool, indisprimary bool, indisexclusion bool, indimmediate bool, \
         indisclustered bool, indisvalid bool, indcheckxmin bool, indisready bool, indislive bool, \
         indisreplident bool, indkey int2vector, indcollation oidvector, indclass oidvector, \
         indoption int2vector, indexprs text, indpred text",
    ),
    table(
        "pg_indexes",
        "schemaname name, tablename name, indexname name, tablespace name, indexdef text",
    ),
    table(
        "pg_language",
        "oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, lanplcallfoid oid, laninline oid, \
         lanvalidator oid, lanacl text[]",
    ),
    table(
        "pg_namespace",
        "oid oid, nspname name, nspowner oid, nspacl text[]",
    ),
    table(
        "pg_proc",
        "oid oid, proname name, pronamespace oid, proowner oid, prolang oid, procost float4, prorows float4, \
         provariadic oid, prosupport regproc, prokind char, prosecdef bool, proleakproof bool, proisstrict bool, \
         proretset bool, provolatile char, proparallel char, pronargs int2, pronargdefaults int2, \
         prorettype oid, proargtypes oidvector, proallargtypes oid[], proargmodes char[], proargnames text[], \
         proargdefaults text, protrftypes oid[], prosrc text, probin text, prosqlbody text, proconfig text[], \
         proacl text[]",
    ),
    table("pg_roles", ROLE),
    table(
        "pg_sequence",
        "seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8, seqmin int8, seqcache int8, \
         seqcycle bool",
    ),
    table(
        "pg_sequences",
        "schemaname name, sequencename name, sequenceowner name, data_type text, start_value int8, \
         min_value int8, max_value int8, increment_by int8, cycle bool, cache_size int8, last_value int8",
    ),
    table(
        "pg_settings",
        "name text, setting text, unit text, category text, short_desc text, extra_desc text, context text, \
         vartype text, source text, min_val text, max_val text, enumvals text[], boot_val text, \
         reset_val text, sourcefile text, sourceline int4, pending_restart bool",
    ),
    table(
        "pg_shadow",
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, \
         passwd text, valuntil timestamptz, useconfig text[]",
    ),
    table(
        "pg_stat_database",
        "datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, blks_read int8, \
         blks_hit int8, tup_returned int8, tup_fetched int8, tup_inserted int8, tup_updated int8, \
         tup_deleted int8, conflicts int8, temp_files int8, temp_bytes int8, deadlocks int8, \
         stats_reset timestamptz",
    ),
    table(
        "pg_stat_user_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, \
         idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, \
         n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, \
         last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, \
         last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, \
         autoanalyze_count int8",
    ),
    table(
        "pg_tables",
        "schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, hasrules bool, \
         hastriggers bool, rowsecurity bool",
    ),
    table(
        "pg_tablespace",
        "oid oid, spcname name, spcowner oid, spcacl text[], spcoptions text[]",
    ),
    table(
        "pg_timezone_names",
        "name text, abbrev text, utc_offset text, is_dst bool",
    ),
    table(
        "pg_type",
        "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, \
    typbyval bool, typtype char, typcategory char, typispreferred bool, typisdefined bool, typdelim char, \
    typrelid oid, typsubscript regproc, typelem oid, typarray oid, typinput regproc, typoutput regproc, \
    typreceive oid, typsend oid, typmodin oid, typmodout oid, typanalyze oid, typalign char, \
    typstorage char, typnotnull bool, typbasetype oid, typtypmod int4, typndims int4, typcollation oid, \
    typdefaultbin text, typdefault text, typacl text[]",
    ),
    table(
        "pg_user",
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, \
         passwd text, valuntil timestamptz, useconfig text[]",
    ),
    table(
        "pg_views",
        "schemaname name, viewname name, viewowner name, definition text",
    ),
    empty(
        "pg_available_extension_versions",
        "name name, version text, installed bool, superuser bool, trusted bool, relocatable bool, schema name, \
         requires name[], comment text",
    ),
    empty(
        "pg_available_extensions",
        "name name, default_version text, installed_version text, comment text",
    ),
    empty(
        "pg_conversion",
        "oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, contoencoding int4, \
         conproc oid, condefault bool",
    ),
    empty(
        "pg_db_role_setting",
        "setdatabase oid, setrole oid, setconfig text[]",
    ),
    empty(
        "pg_default_acl",
        "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, defaclacl text[]",
    ),
    table(
        "pg_enum",
        "oid oid, enumtypid oid, enumsortorder float4, enumlabel name",
    ),
    empty(
        "pg_event_trigger",
        "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char, evttags text[]",
    ),
    empty(
        "pg_extension",
        "oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, extversion text, \
         extconfig oid[], extcondition text[]",
    ),
    empty(
        "pg_foreign_data_wrapper",
        "oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl text[], fdwoptions text[]",
    ),
    empty(
        "pg_foreign_server",
        "oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, srvacl text[], \
         srvoptions text[]",
    ),
    empty("pg_foreign_table", "ftrelid oid, ftserver oid, ftoptions text[]"),
    empty(
        "pg_inherits",
        "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool",
    ),
    empty("pg_largeobject_metadata", "oid oid, lomowner oid, lomacl text[]"),
    empty(
        "pg_locks",
        "locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, transactionid xid, \
         classid oid, objid oid, objsubid int2, virtualtransaction text, pid int4, mode text, granted bool, \
         fastpath bool, waitstart timestamptz",
    ),
    table(
        "pg_matviews",
        "schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, \
         ispopulated bool, definition text",
    ),
    table(
        "pg_opclass",
        "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, opcfamily oid, opcintype oid, \
         opcdefault bool, opckeytype oid",
    ),
    table(
        "pg_opfamily",
        "oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid",
    ),
    empty(
        "pg_partitioned_table",
        "partrelid oid, partstrat char, partnatts int2, partdefid oid, partattrs int2vector",
    ),
    empty(
        "pg_policies",
        "schemaname name, tablename name, policyname name, permissive text, roles name[], cmd text, qual text, \
         with_check text",
    ),
    empty(
        "pg_policy",
        "oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, polroles oid[], polqual text, \
         polwithcheck text",
    ),
    empty(
        "pg_prepared_xacts",
        "transaction xid, gid text, prepared timestamptz, owner name, database name",
    ),
    empty(
        "pg_publication",
        "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, \
         pubdelete bool, pubtruncate bool, pubviaroot bool",
    ),
    empty("pg_publication_namespace", "oid oid, pnpubid oid, pnnspid oid"),
    empty(
        "pg_publication_rel",
        "oid oid, prpubid oid, prrelid oid, prqual text, prattrs int2[]",
    ),
    empty(
        "pg_publication_tables",
        "pubname name, schemaname name, tablename name, attnames name[], rowfilter text",
    ),
    empty(
        "pg_range",
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid",
    ),
    empty(
        "pg_replication_slots",
        "slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, active bool",
    ),
    empty(
        "pg_rewrite",
        "oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, is_instead bool, ev_qual text, \
         ev_action text",
    ),
    empty(
        "pg_rules",
        "schemaname name, tablename name, rulename name, definition text",
    ),
    empty(
        "pg_seclabel",
        "objoid oid, classoid oid, objsubid int4, provider text, label text",
    ),
    empty(
        "pg_shdepend",
        "dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, deptype char",
    ),
    empty("pg_shdescription", "objoid oid, classoid oid, description text"),
    empty(
        "pg_shseclabel",
        "objoid oid, classoid oid, provider text, label text",
    ),
    empty(
        "pg_stat_gssapi",
        "pid int4, gss_authenticated bool, principal text, encrypted bool, credentials_delegated bool",
    ),
    empty(
        "pg_statistic_ext",
        "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int4, \
         stxkeys int2vector, stxkind char[], stxexprs text",
    ),
    empty(
        "pg_stat_replication",
        "pid int4, usesysid oid, usename name, application_name text, state text",
    ),
    empty(
        "pg_subscription",
        "oid oid, subdbid oid, subskiplsn text, subname name, subowner oid, subenabled bool, subbinary bool, \
         substream bool, subtwophasestate char, subdisableonerr bool, subconninfo text, subslotname name, \
         subsynccommit text, subpublications text[]",
    ),
    empty(
        "pg_transform",
        "oid oid, trftype oid, trflang oid, trffromsql oid, trftosql oid",
    ),
    empty(
        "pg_trigger",
        "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, tgenabled char, \
         tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool, \
         tginitdeferred bool, tgnargs int2, tgattr int2vector, tgqual text, tgoldtable name, tgnewtable name",
    ),
    empty(
        "pg_ts_config",
        "oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid",
    ),
    empty(
        "pg_ts_dict",
        "oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid",
    ),
    empty("pg_ts_parser", "oid oid, prsname name, prsnamespace oid"),
    empty("pg_ts_template", "oid oid, tmplname name, tmplnamespace oid"),
    empty(
        "pg_user_mapping",
        "oid oid, umuser oid, umserver oid, umoptions text[]",
    ),
    empty(
        "pg_user_mappings",
        "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions text[]",
    ),
];
