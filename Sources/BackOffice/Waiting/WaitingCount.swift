import Fulfillment

/// The number of rows that wait.
package struct WaitingCount<Reason: WaitingReason>: Sendable {
    package let all: Int
    /// The rows among these that are released, leased or retriable.
    fileprivate let part: Int
    /// The same for the same rows only, as good as certainly; of unclaimed purchases for the same retriable ones.
    package let digest: String

    init(all: Int, part: Int, digest: String) {
        (self.all, self.part, self.digest) = (all, part, digest)
    }
}

extension WaitingCount<Reason> {
    /// Released, and on the way through a worker.
    package var released: Int { part }
}

extension WaitingCount<ParkingReason> {
    /// Someone works on them now.
    package var leased: Int { part }
}

extension WaitingCount<UnclaimedReason> {
    /// The number that has enough data for another look.
    package var retriable: Int { part }
}
