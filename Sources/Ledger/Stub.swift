enum LedgerStub {}
