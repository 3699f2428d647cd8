import Fulfillment
import NamesAndTimes
import Synchronization

/// The apps without App Store Server API credentials whose players send proofs that need them.
///
/// Anyone may send a transaction id, so that one player's say nothing about the game. It takes several players, as with
/// refused credentials.
final class MissingCredentials: Sendable {
    private struct Evidence {
        var state = CredentialsState()
        /// The time of the last such proof, in monotonic seconds.
        var lastAt = 0.0
    }

    /// The seconds without news after which nothing waits any more. A parked submission comes again within them.
    private static let forgottenSeconds = 2 * ParkingPolicy.longestSeconds
    /// The fault in one clause, for an operator.
    static let sentence =
        "its players send transaction_id, and the catalog gives it no server_api: import a catalog with the app's "
        + "server_api, or have the game send receipt_data or signed_transaction"
    private let apps = Mutex<[BundleID: Evidence]>([:])

    /// Notes such a proof. Returns whether the app counts as misconfigured now, and whether that is news.
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

    /// Returns the apps that lacked credentials and no longer do. They have some now, have left the catalog, or nobody
    /// sends proofs that need them.
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
