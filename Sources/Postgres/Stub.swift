enum PostgresStub {}
