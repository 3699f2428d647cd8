enum AppStoreSimulationStub {}
