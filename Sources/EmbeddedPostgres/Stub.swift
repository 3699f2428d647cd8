enum EmbeddedPostgresStub {}
