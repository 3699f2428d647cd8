import Fulfillment

/// Where the pipeline hands submissions over that cannot wait in memory, and what it knows of those that wait.
public final class ParkingDesk: Sendable {
    let store: any ParkedSubmissions
    let policy: ParkingPolicy
    let load: WorkLoad
    let apple: any AppleState
    let blockedApps = BlockedApps()
    let missingCredentials = MissingCredentials()

    init(store: any ParkedSubmissions, apple: any AppleState, settings: PipelineSettings) {
        self.store = store
        self.apple = apple
        policy = ParkingPolicy(retry: settings.retry, parkAfterSeconds: settings.parkAfterSeconds)
        load = WorkLoad(maximumInFlight: settings.maximumInFlight, appleConcurrency: settings.appleConcurrency)
    }
}
