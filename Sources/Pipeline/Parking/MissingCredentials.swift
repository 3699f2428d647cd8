import Fulfillment
import NamesAndTimes
import Synchronization

/// The apps that have no App Store Server API credentials although their players send proofs that need them.
///
/// Anyone can send a transaction id, so one player's proofs say nothing about the app. When several players have sent
/// such proofs, the app counts as misconfigured. `CredentialsState` has the limits.
final class MissingCredentials: Sendable {
    private struct Evidence {
        var state = CredentialsState()
        /// The time of the last proof that needed the credentials, in monotonic seconds.
        var lastAt = 0.0
    }

    /// If no such proof came for this number of seconds, no submission waits for the credentials: the worker would have
    /// tried each parked submission again within this time.
    private static let forgottenSeconds = 2 * ParkingPolicy.longestSeconds
    /// The fault, as one clause for an operator.
    static let sentence =
        "the app's players send transaction_id, and the catalog gives the app no server_api: import a catalog with the "
        + "app's server_api, or have the game send receipt_data or signed_transaction"
    private let apps = Mutex<[BundleID: Evidence]>([:])

    /// Notes a proof that needs the missing credentials. Returns whether the app counts as misconfigured, and whether
    /// this is new.
    func note(
        _ bundleID: BundleID, player: PlayerID, proof: Digest256, now: Double
    ) -> (isMisconfigured: Bool, isNews: Bool) {
        apps.withLock { apps in
            var evidence = apps[bundleID] ?? Evidence()
            let was = evidence.state.areDoubted
            evidence.state.refused(player: player.hashValue, receipt: proof.hashValue, isProven: false, now: now)
            evidence.lastAt = now
            apps[bundleID] = evidence
            let isMisconfigured = evidence.state.areDoubted
            return (isMisconfigured, isMisconfigured && !was)
        }
    }

    /// Returns the apps that no longer need credentials, and forgets them. Such an app has credentials now, it left the
    /// catalog, or its players no longer send proofs that need credentials.
    func mended(_ catalog: Catalog, now: Double) -> [(bundleID: BundleID, wasMisconfigured: Bool)] {
        apps.withLock { apps in
            var mended: [(BundleID, Bool)] = []
            for (bundleID, evidence) in apps {
                let lacksCredentials = catalog.apps[bundleID].map { $0.serverAPI == nil } ?? false
                guard !lacksCredentials || now - evidence.lastAt > Self.forgottenSeconds else { continue }
                mended.append((bundleID, evidence.state.areDoubted))
                apps[bundleID] = nil
            }
            return mended
        }
    }
}
