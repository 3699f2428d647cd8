/// In JSON a step is an object. Its `answer` is the kind of the answer, and the other keys are the arguments. A kind
/// without arguments may be just its name. Examples:
/// `{"answer":"status","status":21104,"is_retryable":true,"key_style":"dash","value_style":"string"}`,
/// `{"answer":"json","body":"{…}","http_status":200}`,
/// `{"answer":"http","http_status":503,"headers":{"Retry-After":"5"},"body":""}`,
/// `{"answer":"slow_drip","milliseconds":5,"chunk_bytes":64}`,
/// `genuine`, `empty_in_app`, `html`, `hang`, `hang_after_headers`, `reset`, `close`, `half_body`, `garbage`.
/// Every object may also have `delay_ms`, `environment` (`production` or `sandbox`) and `times`.
extension SimulatedStep: Codable {
    private enum Key: String, CodingKey {
        case answer
        case status
        case isRetryable = "is_retryable"
        case keyStyle = "key_style"
        case valueStyle = "value_style"
        case body
        case httpStatus = "http_status"
        case headers
        case milliseconds
        case chunkBytes = "chunk_bytes"
        case delayMilliseconds = "delay_ms"
        case environment
        case times
    }

    public init(from decoder: any Decoder) throws {
        if let name = try? decoder.singleValueContainer().decode(String.self) {
            guard let answer = Self.plain[name] else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "no answer is called \(name)"))
            }
            self.init(answer)
            return
        }
        let container = try decoder.container(keyedBy: Key.self)
        self.init(
            try Self.answer(container),
            delayMilliseconds: try container.decodeIfPresent(Int.self, forKey: .delayMilliseconds) ?? 0,
            environment: try container.decodeIfPresent(SimulatedEnvironment.self, forKey: .environment),
            times: try container.decodeIfPresent(Int.self, forKey: .times) ?? 1)
    }

    private static func answer(_ container: KeyedDecodingContainer<Key>) throws -> Answer {
        let name = try container.decode(String.self, forKey: .answer)
        switch name {
        case "status":
            return .status(
                try container.decode(Int.self, forKey: .status),
                isRetryable: try container.decodeIfPresent(Bool.self, forKey: .isRetryable),
                keyStyle: try container.decodeIfPresent(KeyStyle.self, forKey: .keyStyle) ?? .underscore,
                valueStyle: try container.decodeIfPresent(ValueStyle.self, forKey: .valueStyle) ?? .bool)
        case "json":
            return .json(
                try container.decode(String.self, forKey: .body),
                httpStatus: try container.decodeIfPresent(Int.self, forKey: .httpStatus) ?? 200)
        case "http":
            return .http(
                try container.decode(Int.self, forKey: .httpStatus),
                headers: try container.decodeIfPresent([String: String].self, forKey: .headers) ?? [:],
                body: try container.decodeIfPresent(String.self, forKey: .body) ?? "")
        case "slow_drip":
            return .slowDrip(
                milliseconds: try container.decode(Int.self, forKey: .milliseconds),
                chunkBytes: try container.decodeIfPresent(Int.self, forKey: .chunkBytes) ?? 64)
        default:
            guard let answer = plain[name] else {
                throw DecodingError.dataCorruptedError(
                    forKey: .answer, in: container, debugDescription: "no answer is called \(name)")
            }
            return answer
        }
    }

    public func encode(to encoder: any Encoder) throws {
        if let name = plainName, delayMilliseconds == 0, environment == nil, times == 1 {
            var container = encoder.singleValueContainer()
            try container.encode(name)
            return
        }
        var container = encoder.container(keyedBy: Key.self)
        try encodeAnswer(into: &container)
        if delayMilliseconds != 0 { try container.encode(delayMilliseconds, forKey: .delayMilliseconds) }
        try container.encodeIfPresent(environment, forKey: .environment)
        if times != 1 { try container.encode(times, forKey: .times) }
    }

    private func encodeAnswer(into container: inout KeyedEncodingContainer<Key>) throws {
        switch answer {
        case .status(let status, let isRetryable, let keyStyle, let valueStyle):
            try container.encode("status", forKey: .answer)
            try container.encode(status, forKey: .status)
            guard let isRetryable else { return }
            try container.encode(isRetryable, forKey: .isRetryable)
            if keyStyle != .underscore { try container.encode(keyStyle, forKey: .keyStyle) }
            if valueStyle != .bool { try container.encode(valueStyle, forKey: .valueStyle) }
        case .json(let body, let httpStatus):
            try container.encode("json", forKey: .answer)
            try container.encode(body, forKey: .body)
            if httpStatus != 200 { try container.encode(httpStatus, forKey: .httpStatus) }
        case .http(let status, let headers, let body):
            try container.encode("http", forKey: .answer)
            try container.encode(status, forKey: .httpStatus)
            if !headers.isEmpty { try container.encode(headers, forKey: .headers) }
            if !body.isEmpty { try container.encode(body, forKey: .body) }
        case .slowDrip(let milliseconds, let chunkBytes):
            try container.encode("slow_drip", forKey: .answer)
            try container.encode(milliseconds, forKey: .milliseconds)
            try container.encode(chunkBytes, forKey: .chunkBytes)
        case .genuine, .emptyInApp, .html, .hang, .hangAfterHeaders, .reset, .close, .halfBody, .garbage:
            try container.encode(plainName, forKey: .answer)
        }
    }

    /// The answers without arguments, by their name in JSON.
    private static let plain: [String: Answer] = [
        "genuine": .genuine, "empty_in_app": .emptyInApp, "html": .html, "hang": .hang,
        "hang_after_headers": .hangAfterHeaders, "reset": .reset, "close": .close, "half_body": .halfBody,
        "garbage": .garbage,
    ]

    private var plainName: String? { Self.plain.first { $0.value == answer }?.key }
}
