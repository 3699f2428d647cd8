import NIOCore

extension VerifyReceiptService {
    /// Returns the answer to a request of the App Store Server API.
    /// - Parameter authorization: the value of the `Authorization` header.
    func answer(_ request: ServerAPIRequest, authorization: String?, on turn: ConnectionTurn) -> PlannedAnswer {
        let environment = turn.endpoint
        let date = now()
        let token = SimulatedToken(authorization: authorization, keys: serverAPIKeys, now: date)
        let hash = SimulatedTransaction.hash(request.id, request.endpoint)
        let (opening, step, known) = update { state in
            let opening = state.begin(environment, request.endpoint)
            let step: SimulatedStep =
                opening.forced
                ?? (token == nil ? .genuine : state.step(environment, receipt: hash, of: request.endpoint))
            return (opening, step, request.endpoint == .transactions ? state.transaction(request.id) : nil)
        }
        var answer = ServerAPIAnswer.unauthorized
        // A request changes the store only if Apple's ordinary answer goes out. So no request changes the store during
        // an outage.
        if let token, opening.forced == nil, step.answer.isGenuine {
            answer = self.answer(request, known, token, on: turn)
        }
        var renderer = AnswerRenderer(.serverAPI(answer, request.endpoint), turn: turn, date: date)
        let wire = renderer.render(step.answer)
        let kind = renderer.kind
        update {
            $0.decided(
                kind, receipt: hash,
                record: SimulatedRequestRecord(
                    timestampMilliseconds: date, endpoint: environment, api: request.endpoint,
                    transactionIDs: request.id.isEmpty ? [] : [request.id],
                    receiptHash: ReceiptHash.hexadecimal(hash), answer: kind.label))
        }
        return PlannedAnswer(wire: wire, delay: opening.latency + step.delayNanoseconds)
    }

    /// - Parameter known: the registered transaction with the request's id. It has precedence over the store's
    ///   transaction.
    private func answer(
        _ request: ServerAPIRequest, _ known: KnownTransaction?, _ token: SimulatedToken, on turn: ConnectionTurn
    ) -> ServerAPIAnswer {
        if let known, known.environment == turn.endpoint, known.bundleID == token.bundleID {
            // A JWS has no character that JSON escapes.
            return .json("{\"signedTransactionInfo\":\"\(known.signedTransactionInfo)\"}")
        }
        do {
            return try store.answer(request, bundleID: token.bundleID, environment: turn.endpoint, now: now())
        } catch let fault as ServerAPIFault {
            return .error(fault)
        } catch {
            return .error(.badRequest)
        }
    }
}

extension SimulatedStep.Answer {
    /// True if the answer contains Apple's ordinary answer, whole or in part.
    fileprivate var isGenuine: Bool {
        switch self {
        case .genuine, .emptyInApp, .halfBody, .slowDrip: true
        default: false
        }
    }
}
