import Fulfillment

/// The number of rows that wait.
package struct WaitingCount<Reason: WaitingReason>: Sendable {
    package let all: Int
    /// The rows among these that are released, leased or retriable.
    fileprivate let part: Int
    /// A digest of the counted rows, equal only for the same rows; of unclaimed purchases it covers the retriable ones.
    package let digest: String

    init(all: Int, part: Int, digest: String) {
        (self.all, self.part, self.digest) = (all, part, digest)
    }
}

extension WaitingCount<Reason> {
    /// The holds that are released and that a worker is deciding.
    package var released: Int { part }
}

extension WaitingCount<ParkingReason> {
    /// The submissions that a worker is trying now.
    package var leased: Int { part }
}

extension WaitingCount<UnclaimedReason> {
    /// The number of purchases with enough data for another try.
    package var retriable: Int { part }
}
