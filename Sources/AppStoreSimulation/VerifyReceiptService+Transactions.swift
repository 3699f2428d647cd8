import NIOCore

/// What the App Store Server API says of one transaction.
enum ServerAPIAnswer {
    case transaction(signedTransactionInfo: String)
    case notFound
    case unauthorized

    static let notFoundCode = 4_040_010
}

extension VerifyReceiptService {
    /// `GET /inApps/v1/transactions/{transactionId}`.
    /// - Parameters:
    ///   - isLast: the connection is closed after the answer, which the answer then says.
    ///   - buffer: an empty one to write the answer into.
    func answer(
        _ endpoint: SimulatedEnvironment, transactionID: String, authorization: String?, isLast: Bool,
        buffer: ByteBuffer
    ) -> PlannedAnswer {
        let date = now()
        let token = SimulatedToken(authorization: authorization, keys: serverAPIKeys, now: date)
        let hash = SimulatedTransaction.hash(transactionID)
        let (opening, step, known) = update { state in
            let opening = state.begin(endpoint)
            let step: SimulatedStep =
                opening.forced ?? (token == nil ? .genuine : state.step(endpoint, receipt: hash, embedded: nil))
            return (opening, step, state.transaction(transactionID))
        }
        var answer = ServerAPIAnswer.notFound
        if token == nil {
            answer = .unauthorized
        } else if let known, known.environment == endpoint, known.bundleID == token?.bundleID {
            answer = .transaction(signedTransactionInfo: known.signedTransactionInfo)
        }
        var renderer = AnswerRenderer(
            endpoint: endpoint, request: nil, body: UnsafeRawBufferPointer(start: nil, count: 0),
            evidence: .unrecognised, date: date, isLast: isLast, sharedSecrets: [:], buffer: buffer,
            transaction: answer)
        let wire = renderer.render(step.answer)
        let kind = renderer.kind
        update {
            $0.decided(
                kind, receipt: hash,
                record: SimulatedRequestRecord(
                    timestampMilliseconds: date, endpoint: endpoint, transactionIDs: [transactionID],
                    receiptHash: ReceiptHash.hexadecimal(hash), answer: kind.label))
        }
        let delay = Int64(min(max(step.delayMilliseconds, 0), 3_600_000)) * 1_000_000
        return PlannedAnswer(wire: wire, delay: opening.latency + delay)
    }
}
