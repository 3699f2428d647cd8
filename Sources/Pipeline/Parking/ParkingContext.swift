import Fulfillment

/// The store of parked submissions, the parking policy, and shared state about waiting submissions.
public final class ParkingContext: Sendable {
    let store: any ParkedSubmissions
    let policy: ParkingPolicy
    let slots: WorkSlots
    let leases = LeaseGate()
    let apple: any AppleState
    let blockedApps = BlockedApps()
    let missingCredentials = MissingCredentials()
    let recovery = RecoverySigns()

    init(store: any ParkedSubmissions, apple: any AppleState, settings: PipelineSettings) {
        self.store = store
        self.apple = apple
        policy = ParkingPolicy(retry: settings.retry, parkAfterSeconds: settings.parkAfterSeconds)
        slots = WorkSlots(maximumInFlight: settings.maximumInFlight, appleConcurrency: settings.apple.concurrency)
    }
}
