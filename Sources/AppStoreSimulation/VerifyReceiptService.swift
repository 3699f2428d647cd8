import NIOCore
import Synchronization

/// Decides what a request is answered. Called on event loops; holds the lock only for the few
/// instructions that touch the state, never while reading a receipt or writing an answer.
final class VerifyReceiptService: Sendable {
    private let state: Mutex<SimulationState>
    private let sharedSecrets: [String: String]
    /// By bundle id.
    let serverAPIKeys: [String: SimulatedServerAPIKey]
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64

    init(
        state: SimulationState, sharedSecrets: [String: String], serverAPIKeys: [String: SimulatedServerAPIKey],
        now: @escaping @Sendable () -> Int64
    ) {
        self.state = Mutex(state)
        self.sharedSecrets = sharedSecrets
        self.serverAPIKeys = serverAPIKeys
        self.now = now
    }

    /// - Parameters:
    ///   - isLast: the connection is closed after the answer, which the answer then says.
    ///   - buffer: an empty one to write the answer into.
    func answer(
        _ endpoint: SimulatedEnvironment, isPost: Bool, body: ByteBuffer, isLast: Bool, buffer: ByteBuffer
    ) -> PlannedAnswer {
        let opening = update { $0.begin(endpoint) }
        let date = now()
        return body.withUnsafeReadableBytes { bytes in
            let request = isPost ? VerifyReceiptRequest(bytes) : nil
            let hash = opening.needsHash ? request.flatMap { Self.hash($0, bytes) } ?? 0 : nil
            var evidence = SimulatedEvidence.unrecognised
            if opening.forced == nil, let text = request?.receiptData {
                evidence = text.withBytes(of: bytes) { SimulatedEvidence(base64: $0) }
            }
            var renderer = AnswerRenderer(
                endpoint: endpoint, request: request, body: bytes, evidence: evidence, date: date, isLast: isLast,
                sharedSecrets: sharedSecrets, buffer: buffer)
            let step = opening.forced ?? self.step(endpoint, request, bytes, evidence, hash)
            let wire = renderer.render(step.answer)
            let kind = renderer.kind
            update {
                $0.decided(
                    kind, receipt: hash ?? 0,
                    record: SimulatedRequestRecord(
                        timestampMilliseconds: date, endpoint: endpoint, transactionIDs: evidence.transactionIDs,
                        receiptHash: ReceiptHash.hexadecimal(hash ?? 0), answer: kind.label))
            }
            let delay = Int64(min(max(step.delayMilliseconds, 0), 3_600_000)) * 1_000_000
            return PlannedAnswer(wire: wire, delay: opening.latency + delay)
        }
    }

    /// Every change of the state goes through here, so that those who wait for counters are woken.
    @discardableResult
    func update<Result: Sendable>(_ change: (inout SimulationState) -> Result) -> Result {
        let (result, woken) = state.withLock { state in
            (change(&state), state.waiters.isEmpty ? [] : state.waiters.take(state.snapshot))
        }
        for continuation in woken { continuation.resume() }
        return result
    }

    /// The lock is not taken for the ordinary receipt, for which nothing was arranged.
    private func step(
        _ endpoint: SimulatedEnvironment, _ request: VerifyReceiptRequest?, _ body: UnsafeRawBufferPointer,
        _ evidence: SimulatedEvidence, _ hash: UInt64?
    ) -> SimulatedStep {
        let embedded = evidence.behaviourText
        guard let request, hash != nil || embedded != nil else { return .genuine }
        let receipt = hash ?? Self.hash(request, body) ?? 0
        return state.withLock { $0.step(endpoint, receipt: receipt, embedded: embedded) }
    }

    private static func hash(_ request: VerifyReceiptRequest, _ body: UnsafeRawBufferPointer) -> UInt64? {
        request.receiptData?.withBytes(of: body) { ReceiptHash.hash($0) }
    }
}
