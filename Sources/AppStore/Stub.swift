enum AppStoreStub {}
