import NIOCore

/// Turns a step's `Answer` into a `WireAnswer`: the bytes to send, and the fault of the connection if there is one.
struct AnswerRenderer {
    enum Question {
        /// A request to verifyReceipt. The request is nil unless it was a POST of a JSON object.
        case receipt(VerifyReceiptRequest?, SimulatedEvidence, ReceiptKnowledge)
        /// A request to the App Store Server API. The first value is Apple's ordinary answer to the request.
        case serverAPI(ServerAPIAnswer, SimulatedEndpoint)
    }

    /// The data that verifyReceipt's answer needs and that the receipt does not contain.
    struct ReceiptKnowledge {
        let sharedSecrets: [String: String]
        /// The customer's data in the store, and the customer's newest receipt in base64. Nil if the store does not
        /// know the customer.
        let customer: (receipt: StoreReceipt, encoded: String)?
    }

    let question: Question
    let turn: ConnectionTurn
    /// The time of the answer, in milliseconds since 1970.
    let date: Int64

    private(set) var kind = AnswerKind.status(0)

    init(_ question: Question, turn: ConnectionTurn, date: Int64) {
        self.question = question
        self.turn = turn
        self.date = date
    }

    private var endpoint: SimulatedEnvironment { turn.endpoint }
    private var isLast: Bool { turn.isLast }
    private var buffer: ByteBuffer { turn.buffer }

    private var isServerAPI: Bool {
        if case .serverAPI = question { true } else { false }
    }

    mutating func render(_ answer: SimulatedStep.Answer) -> WireAnswer {
        switch answer {
        case .genuine:
            return .response(genuine().finished())
        case .emptyInApp:
            let response = genuine(hidesPurchases: true)
            if kind == .status(0) { kind = .emptyInApp }
            return .response(response.finished())
        case .status(let code, _, _, _) where isServerAPI:
            return .response(error(ServerAPIFault(code: code)).finished())
        case .status(let status, let isRetryable, let keyStyle, let valueStyle):
            kind = .status(status)
            var response = HTTPResponseWriter(buffer, isLast: isLast)
            let flag = isRetryable.map { RetryFlag(isSet: $0, key: keyStyle, value: valueStyle) }
            writeStatus(status, flag, into: &response.buffer)
            return .response(response.finished())
        case .json(let text, let httpStatus):
            kind = .json
            var response = HTTPResponseWriter(buffer, status: httpStatus, isLast: isLast)
            response.buffer.writeString(text)
            return .response(response.finished())
        case .http(let status, let headers, let text):
            kind = .http(status)
            var response = HTTPResponseWriter(
                buffer, status: status, contentType: "text/plain", isLast: isLast, headers: headers)
            response.buffer.writeString(text)
            return .response(response.finished())
        case .html:
            kind = .html
            var response = HTTPResponseWriter(buffer, contentType: "text/html", isLast: isLast)
            response.buffer.writeStaticString("<html><body><b>Http/1.1 Service Unavailable</b></body> </html>")
            return .response(response.finished())
        case .hang, .hangAfterHeaders, .reset, .close, .halfBody, .garbage, .slowDrip:
            return renderFault(answer)
        }
    }

    private mutating func renderFault(_ answer: SimulatedStep.Answer) -> WireAnswer {
        switch answer {
        case .hangAfterHeaders:
            kind = .hangAfterHeaders
            return .thenSilence(HTTPResponseWriter(buffer, isLast: isLast).finished(claiming: 1000))
        case .reset:
            kind = .reset
            return .reset
        case .close:
            kind = .close
            return .close
        case .halfBody:
            let response = genuine()
            kind = .halfBody
            var bytes = response.finished()
            bytes.moveWriterIndex(to: response.bodyIndex + response.bodyLength / 2)
            return .thenClose(bytes)
        case .garbage:
            kind = .garbage
            var bytes = buffer
            bytes.clear()
            bytes.writeBytes([0x16, 0x03, 0x01, 0x00, 0xFF, 0x00, 0x0D, 0x0A])
            bytes.writeStaticString("this is not HTTP\r\n\r\n")
            return .thenClose(bytes)
        case .slowDrip(let milliseconds, let chunkBytes):
            let response = genuine()
            kind = .slowDrip
            return .drip(
                response.finished(), bodyIndex: response.bodyIndex, milliseconds: max(0, milliseconds),
                chunkBytes: max(1, chunkBytes))
        default:
            kind = .hang
            return .silence
        }
    }

    private mutating func genuine(hidesPurchases: Bool = false) -> HTTPResponseWriter {
        switch question {
        case .serverAPI(let answer, let endpoint): return genuine(answer, of: endpoint)
        case .receipt(let request, let evidence, let known):
            return genuine(request, evidence, known, hidesPurchases: hidesPurchases)
        }
    }

    private mutating func genuine(
        _ request: VerifyReceiptRequest?, _ evidence: SimulatedEvidence, _ known: ReceiptKnowledge,
        hidesPurchases: Bool
    ) -> HTTPResponseWriter {
        var response = HTTPResponseWriter(buffer, isLast: isLast)
        var answer = AppleAnswer(requestDate: date)
        answer.hidesPurchases = hidesPurchases
        answer.known = known.customer
        answer.excludesOldTransactions = request?.excludesOldTransactions ?? false
        var status = refusal(request, evidence, known.sharedSecrets) ?? 0
        if status != 0 {
            writeStatus(status, nil, into: &response.buffer)
        } else if case .appReceipt(let parsed) = evidence {
            answer.write(parsed.receipt, receiptData: request?.receiptData ?? "", into: &response.buffer)
        } else if case .transactionReceipt(let parsed) = evidence {
            status = answer.write(parsed.receipt, into: &response.buffer)
        }
        kind = .status(status)
        return response
    }

    private mutating func genuine(_ answer: ServerAPIAnswer, of endpoint: SimulatedEndpoint) -> HTTPResponseWriter {
        switch answer {
        case .unauthorized: return error(ServerAPIFault(code: 401))
        case .error(let fault): return error(fault)
        case .done(let status):
            kind = .served(endpoint)
            return HTTPResponseWriter(buffer, status: status, isLast: isLast)
        case .json(let text):
            kind = .served(endpoint)
            var response = HTTPResponseWriter(buffer, isLast: isLast)
            response.buffer.writeString(text)
            return response
        }
    }

    /// Builds an error of the App Store Server API. The first three digits of a code such as 4040010 are the HTTP
    /// status. A smaller code is itself the status, and the response has no body.
    private mutating func error(_ fault: ServerAPIFault) -> HTTPResponseWriter {
        let hasBody = fault.code >= 1_000_000
        let status = hasBody ? fault.code / 10_000 : fault.code
        kind = hasBody ? .status(fault.code) : .http(fault.code)
        var response = HTTPResponseWriter(buffer, status: status, isLast: isLast)
        if hasBody {
            response.buffer.writeString("{\"errorCode\":\(fault.code),\"errorMessage\":\"\(fault.message)\"}")
        }
        return response
    }

    /// Returns the error status that Apple would answer to this request; nil if this endpoint accepts the receipt.
    private func refusal(
        _ request: VerifyReceiptRequest?, _ evidence: SimulatedEvidence, _ secrets: [String: String]
    ) -> Int? {
        // 21000: the request is no POST of a JSON object. 21002: `receipt-data` is no receipt.
        guard let request else { return 21000 }
        guard let environment = evidence.environment else { return 21002 }
        guard environment == endpoint else { return endpoint == .production ? 21007 : 21008 }
        if let bundleID = evidence.bundleID, let secret = secrets[bundleID],
            request.password != secret
        {
            return 21004
        }
        return nil
    }

    /// The value of `is_retryable`, and the styles in which the answer writes the key and the value.
    private struct RetryFlag {
        let isSet: Bool
        let key: SimulatedStep.KeyStyle
        let value: SimulatedStep.ValueStyle
    }

    private func writeStatus(_ status: Int, _ flag: RetryFlag?, into buffer: inout ByteBuffer) {
        buffer.writeStaticString("{\"status\":")
        buffer.writeDecimal(Int64(status))
        if let flag {
            buffer.writeStaticString(",\"environment\":\"")
            buffer.writeStaticString(endpoint.appleName)
            buffer.writeStaticString(flag.key == .dash ? "\",\"is-retryable\":" : "\",\"is_retryable\":")
            switch flag.value {
            case .bool: buffer.writeStaticString(flag.isSet ? "true" : "false")
            case .number: buffer.writeStaticString(flag.isSet ? "1" : "0")
            case .string: buffer.writeStaticString(flag.isSet ? "\"true\"" : "\"false\"")
            }
        }
        buffer.writeStaticString("}")
    }
}
