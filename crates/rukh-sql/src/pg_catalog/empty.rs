//! Tables of `pg_catalog` that never have rows: what they tell of does not exist here.
//!
//! Clients join with them, so their columns are all there.

use super::schema::Definition;

const fn empty(name: &'static str, columns: &'static str) -> Definition {
    Definition {
        name,
        columns,
        rows: None,
    }
}

pub(super) const TABLES: &[Definition] = &[
    empty(
        "pg_auth_members",
        "roleid oid, member oid, grantor oid, admin_option bool",
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
    empty(
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
    empty(
        "pg_matviews",
        "schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, \
         ispopulated bool, definition text",
    ),
    empty(
        "pg_opclass",
        "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcintype oid, opcdefault bool",
    ),
    empty(
        "pg_opfamily",
        "oid oid, opfmethod oid, opfname name, opfnamespace oid",
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
