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
    func answer(transactionID: String, authorization: String?, on turn: ConnectionTurn) -> PlannedAnswer {
        let endpoint = turn.endpoint
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
        var renderer = AnswerRenderer(.transaction(answer), turn: turn, date: date)
        let wire = renderer.render(step.answer)
        let kind = renderer.kind
        update {
            $0.decided(
                kind, receipt: hash,
                record: SimulatedRequestRecord(
                    timestampMilliseconds: date, endpoint: endpoint, transactionIDs: [transactionID],
                    receiptHash: ReceiptHash.hexadecimal(hash), answer: kind.label))
        }
        return PlannedAnswer(wire: wire, delay: opening.latency + step.delayNanoseconds)
    }
}
