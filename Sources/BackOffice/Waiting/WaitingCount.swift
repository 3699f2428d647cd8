import Fulfillment

/// The number of waiting rows that match a filter.
package struct WaitingCount<Reason: WaitingReason>: Sendable {
    package let all: Int
    /// The number of counted rows that are released (holds), leased (parked submissions) or retriable (unclaimed
    /// purchases).
    fileprivate let part: Int
    /// A digest that is equal only for equal sets of counted rows. For unclaimed purchases it covers only retriable
    /// rows.
    package let digest: String

    init(all: Int, part: Int, digest: String) {
        (self.all, self.part, self.digest) = (all, part, digest)
    }
}

extension WaitingCount<Reason> {
    /// The number of holds that an operator has released and that a worker has not decided yet.
    package var released: Int { part }
}

extension WaitingCount<ParkingReason> {
    /// The number of submissions that a worker has leased.
    package var leased: Int { part }
}

extension WaitingCount<UnclaimedReason> {
    /// The number of purchases with enough data for another try.
    package var retriable: Int { part }
}
