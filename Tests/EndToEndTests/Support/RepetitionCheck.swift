import Foundation

@testable import AppStoreSimulation

/// Checks that the workers sent Apple no request about a receipt after its outcome was seen.
struct RepetitionCheck {
    let plan: Plan
    private var decidedBefore: [Int: Int64] = [:]

    init(plan: Plan) {
        self.plan = plan
    }

    /// Notes the time at which outcomes were seen.
    /// - Parameter decided: the indices of the plan's records with an outcome.
    mutating func note(_ decided: some Sequence<Int>) {
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        for index in decided where decidedBefore[index] == nil { decidedBefore[index] = now }
    }

    func problems(_ log: [SimulatedRequestRecord]) -> [String] {
        var indices: [String: Int] = [:]
        for (receipt, index) in plan.unsharedReceipts {
            indices[ReceiptHash.hexadecimal(ReceiptHash.hash(receipt))] = index
        }
        return log.compactMap { request in
            guard let index = indices[request.receiptHash], let time = decidedBefore[index],
                request.timestampMilliseconds > time
            else { return nil }
            let id = plan.records[index].submissionID ?? "-"
            return
                "Apple was asked again for \(id), \(request.timestampMilliseconds - time) ms after its outcome was seen"
        }
    }
}
