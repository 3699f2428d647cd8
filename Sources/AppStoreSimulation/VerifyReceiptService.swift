import NIOCore
import Synchronization

/// Decides the answer to a request. Event loops call this class. It holds the lock only while it reads or changes the
/// state, never while it reads a receipt or writes an answer.
final class VerifyReceiptService: Sendable {
    private let state: Mutex<SimulationState>
    private let sharedSecrets: [String: String]
    let serverAPIKeys: [String: SimulatedServerAPIKey]
    let store: StoreKeeper
    /// A clock that returns milliseconds since 1970.
    let now: @Sendable () -> Int64

    init(
        state: SimulationState, sharedSecrets: [String: String], serverAPIKeys: [String: SimulatedServerAPIKey],
        store: StoreKeeper, now: @escaping @Sendable () -> Int64
    ) {
        self.state = Mutex(state)
        self.sharedSecrets = sharedSecrets
        self.serverAPIKeys = serverAPIKeys
        self.store = store
        self.now = now
    }

    func answer(isPost: Bool, body: ByteBuffer, on turn: ConnectionTurn) -> PlannedAnswer {
        let endpoint = turn.endpoint
        let opening = update { $0.begin(endpoint, .verifyReceipt) }
        let date = store.present(now())
        let request = isPost ? VerifyReceiptRequest(Array(body.readableBytesView)) : nil
        let hash = opening.needsHash ? request?.receiptData.map(ReceiptHash.hash) ?? 0 : nil
        var evidence = SimulatedEvidence.unrecognised
        if opening.forced == nil, let text = request?.receiptData { evidence = SimulatedEvidence(base64: text) }
        var renderer = AnswerRenderer(
            .receipt(
                request, evidence,
                .init(sharedSecrets: sharedSecrets, customer: store.customer(showing: evidence, now: date))),
            turn: turn, date: date)
        let step = opening.forced ?? self.step(endpoint, request, evidence, hash)
        let wire = renderer.render(step.answer)
        let kind = renderer.kind
        update {
            $0.decided(
                kind, receipt: hash ?? 0,
                record: SimulatedRequestRecord(
                    timestampMilliseconds: date, endpoint: endpoint, api: .verifyReceipt,
                    transactionIDs: evidence.transactionIDs,
                    receiptHash: ReceiptHash.hexadecimal(hash ?? 0), answer: kind.label))
        }
        return PlannedAnswer(wire: wire, delay: opening.latency + step.delayNanoseconds)
    }

    /// Changes the state, and wakes the tasks that wait for counters. Every change of the state must go through this
    /// function. Only `step` does not use it, because no counter contains the count that chooses a step.
    @discardableResult
    func update<Result: Sendable>(_ change: (inout SimulationState) -> Result) -> Result {
        let (result, woken) = state.withLock { state in
            (change(&state), state.waiters.isEmpty ? [] : state.waiters.take(state.tally.snapshot))
        }
        for continuation in woken { continuation.resume() }
        return result
    }

    /// Returns the step for a receipt. Takes no lock if `hash` is nil and the receipt contains no behaviour.
    private func step(
        _ endpoint: SimulatedEnvironment, _ request: VerifyReceiptRequest?, _ evidence: SimulatedEvidence,
        _ hash: UInt64?
    ) -> SimulatedStep {
        let embedded = evidence.behaviourText
        guard let request, hash != nil || embedded != nil else { return .genuine }
        let receipt = hash ?? request.receiptData.map(ReceiptHash.hash) ?? 0
        return state.withLock { $0.step(endpoint, receipt: receipt, embedded: embedded) }
    }
}
