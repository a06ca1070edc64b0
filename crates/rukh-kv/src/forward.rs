//! Stores around other stores.

/// Implements methods of [`KvStore`](crate::KvStore) or [`LocalFiles`](crate::LocalFiles) as those of the store in a field: `forward_store!(inner: sync close)`.
#[macro_export]
macro_rules! forward_store {
    ($inner:ident: $($method:ident)*) => {
        $($crate::forward_store!(@$method $inner);)*
    };
    (@capabilities $inner:ident) => {
        fn capabilities(&self) -> $crate::Capabilities {
            self.$inner.capabilities()
        }
    };
    (@merge_operator $inner:ident) => {
        fn merge_operator(&self) -> Option<::std::sync::Arc<dyn $crate::MergeOperator>> {
            self.$inner.merge_operator()
        }
    };
    (@tables $inner:ident) => {
        fn tables(&self) -> ::std::vec::Vec<String> {
            self.$inner.tables()
        }
    };
    (@table_exists $inner:ident) => {
        fn table_exists(&self, table: &str) -> bool {
            self.$inner.table_exists(table)
        }
    };
    (@create_table $inner:ident) => {
        fn create_table(&self, table: &str, options: &$crate::TableOptions) -> Result<(), $crate::KvError> {
            self.$inner.create_table(table, options)
        }
    };
    (@configure_table $inner:ident) => {
        fn configure_table(&self, table: &str, options: &$crate::TableOptions) -> Result<(), $crate::KvError> {
            self.$inner.configure_table(table, options)
        }
    };
    (@set_purge $inner:ident) => {
        fn set_purge(&self, table: &str, purge: Option<$crate::Purge>) -> Result<(), $crate::KvError> {
            self.$inner.local_files("forgetting in the background")?.set_purge(table, purge)
        }
    };
    (@drop_table $inner:ident) => {
        fn drop_table(&self, table: &str) -> Result<(), $crate::KvError> {
            self.$inner.drop_table(table)
        }
    };
    (@snapshot $inner:ident) => {
        fn snapshot(&self) -> ::std::sync::Arc<dyn $crate::KvSnapshot> {
            self.$inner.snapshot()
        }
    };
    (@latest $inner:ident) => {
        fn latest(&self) -> ::std::sync::Arc<dyn $crate::KvSnapshot> {
            self.$inner.latest()
        }
    };
    (@order $inner:ident) => {
        fn order(&self) -> &dyn $crate::CommitOrder {
            self.$inner.order()
        }
    };
    (@sync $inner:ident) => {
        fn sync(&self) -> Result<(), $crate::KvError> {
            self.$inner.sync()
        }
    };
    (@flush $inner:ident) => {
        fn flush(&self) -> Result<(), $crate::KvError> {
            self.$inner.local_files("flushes")?.flush()
        }
    };
    (@compact $inner:ident) => {
        fn compact(&self, table: &str) -> Result<(), $crate::KvError> {
            self.$inner.compact(table)
        }
    };
    (@compact_all $inner:ident) => {
        fn compact_all(&self, tables: &[String], done: &mut dyn FnMut(u64) -> ::std::ops::ControlFlow<()>,
    ) -> Result<(), $crate::KvError> {
            self.$inner.compact_all(tables, done)
        }
    };
    (@approximate_size $inner:ident) => {
        fn approximate_size(&self, table: &str, range: &::rukh_keys::KeyRange) -> Result<u64, $crate::KvError> {
            self.$inner.approximate_size(table, range)
        }
    };
    (@approximate_keys $inner:ident) => {
        fn approximate_keys(&self, table: &str) -> Result<u64, $crate::KvError> {
            self.$inner.approximate_keys(table)
        }
    };
    (@split_points $inner:ident) => {
        fn split_points(&self, table: &str, range: &::rukh_keys::KeyRange, parts: usize) -> Result<::std::vec::Vec<::std::vec::Vec<u8>>, $crate::KvError> {
            self.$inner.split_points(table, range, parts)
        }
    };
    (@sorted_writer $inner:ident) => {
        fn sorted_writer(&self, table: &str) -> Result<Box<dyn $crate::SortedWriter>, $crate::KvError> {
            self.$inner.local_files("loads by files")?.sorted_writer(table)
        }
    };
    (@load_files $inner:ident) => {
        fn load_files(&self) -> Result<::std::vec::Vec<$crate::LoadFile>, $crate::KvError> {
            self.$inner.local_files("loads by files")?.load_files()
        }
    };
    (@make_room $inner:ident) => {
        fn make_room(&self, tables: &[$crate::TableName]) -> Result<(), $crate::KvError> {
            self.$inner.local_files("loads by files")?.make_room(tables)
        }
    };
    (@ingest $inner:ident) => {
        fn ingest(&self, loads: ::std::vec::Vec<($crate::TableName, ::std::vec::Vec<$crate::LoadFile>)>) -> Result<(), $crate::KvError> {
            self.$inner.local_files("loads by files")?.ingest(loads)
        }
    };
    (@discard_files $inner:ident) => {
        fn discard_files(&self, files: &[$crate::LoadFile]) -> Result<(), $crate::KvError> {
            self.$inner.local_files("loads by files")?.discard_files(files)
        }
    };
    (@abandon_files $inner:ident) => {
        fn abandon_files(&self, files: &[$crate::LoadFile]) -> Result<(), $crate::KvError> {
            self.$inner.local_files("loads by files")?.abandon_files(files)
        }
    };
    (@is_abandoned $inner:ident) => {
        fn is_abandoned(&self, file: &$crate::LoadFile) -> Result<bool, $crate::KvError> {
            self.$inner.local_files("loads by files")?.is_abandoned(file)
        }
    };
    (@discard_stray_files $inner:ident) => {
        fn discard_stray_files(&self, keep: &[$crate::LoadFile]) -> Result<(), $crate::KvError> {
            self.$inner.local_files("loads by files")?.discard_stray_files(keep)
        }
    };
    (@table_usage $inner:ident) => {
        fn table_usage(&self, table: &str) -> Result<$crate::TableUsage, $crate::KvError> {
            self.$inner.table_usage(table)
        }
    };
    (@usage $inner:ident) => {
        fn usage(&self) -> Result<$crate::StoreUsage, $crate::KvError> {
            self.$inner.local_files("sizes of files")?.usage()
        }
    };
    (@backup $inner:ident) => {
        fn backup(&self, directory: &::std::path::Path) -> Result<$crate::Backup, $crate::KvError> {
            self.$inner.local_files("backups")?.backup(directory)
        }
    };
    (@checkpoint $inner:ident) => {
        fn checkpoint(&self, directory: &::std::path::Path) -> Result<(), $crate::KvError> {
            self.$inner.local_files("checkpoints")?.checkpoint(directory)
        }
    };
    (@close $inner:ident) => {
        fn close(&self) -> Result<(), $crate::KvError> {
            self.$inner.close()
        }
    };
}
