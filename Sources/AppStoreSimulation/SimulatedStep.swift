/// One step of a behaviour: an answer, the environment to which it applies, and the number of requests that get it.
public struct SimulatedStep: Sendable, Hashable {
    /// The spelling of `is_retryable`. Real answers spell it `is_retryable`, Apple's documentation `is-retryable`.
    public enum KeyStyle: String, Sendable, Hashable, Codable, CaseIterable { case underscore, dash }

    /// The JSON type of the value of `is_retryable`: `true`, `1` or `"true"`.
    public enum ValueStyle: String, Sendable, Hashable, Codable, CaseIterable { case bool, number, string }

    public enum Answer: Sendable, Hashable {
        /// Apple's ordinary answer.
        case genuine
        /// Apple's ordinary answer with an empty `in_app`, a known fault of Apple right after a purchase.
        case emptyInApp
        /// HTTP 200 with a status, and with `is_retryable` unless `isRetryable` is nil.
        case status(Int, isRetryable: Bool?, keyStyle: KeyStyle, valueStyle: ValueStyle)
        /// This text as the body, with this HTTP status.
        case json(String, httpStatus: Int)
        case http(Int, headers: [String: String], body: String)
        /// HTTP 200 with Apple's HTML page about "503 Service Unavailable".
        case html
        /// No answer, although the simulation reads the request.
        case hang
        /// The response head, and nothing more.
        case hangAfterHeaders
        /// No answer: the connection closes with RST.
        case reset
        /// No answer: the connection closes in the ordinary way.
        case close
        /// The head and half of the body of Apple's ordinary answer, then the end of the connection.
        case halfBody
        /// Bytes that are not HTTP, then the end of the connection.
        case garbage
        /// Apple's ordinary answer, with the body in chunks of `chunkBytes` bytes and a pause between two chunks.
        case slowDrip(milliseconds: Int, chunkBytes: Int)
    }

    public var answer: Answer
    /// The wait before the answer, in milliseconds. The simulation adds its latency to this wait.
    public var delayMilliseconds: Int
    /// The environment to which the step applies; nil for both.
    public var environment: SimulatedEnvironment?
    /// The number of successive requests that get this step; at least 1.
    public var times: Int

    var delayNanoseconds: Int64 { Int64(min(max(delayMilliseconds, 0), 3_600_000)) * 1_000_000 }

    public init(
        _ answer: Answer, delayMilliseconds: Int = 0, environment: SimulatedEnvironment? = nil, times: Int = 1
    ) {
        self.answer = answer
        self.delayMilliseconds = delayMilliseconds
        self.environment = environment
        self.times = times
    }

    public func times(_ count: Int) -> SimulatedStep {
        var step = self
        step.times = count
        return step
    }

    public func only(in environment: SimulatedEnvironment) -> SimulatedStep {
        var step = self
        step.environment = environment
        return step
    }
}

extension SimulatedStep {
    public static let genuine = SimulatedStep(.genuine)
    public static let emptyInApp = SimulatedStep(.emptyInApp)
    public static let html = SimulatedStep(.html)
    public static let hang = SimulatedStep(.hang)
    public static let hangAfterHeaders = SimulatedStep(.hangAfterHeaders)
    public static let reset = SimulatedStep(.reset)
    public static let close = SimulatedStep(.close)
    public static let halfBody = SimulatedStep(.halfBody)
    public static let garbage = SimulatedStep(.garbage)

    public static func status(
        _ status: Int, isRetryable: Bool? = nil, keyStyle: KeyStyle = .underscore, valueStyle: ValueStyle = .bool
    ) -> SimulatedStep {
        SimulatedStep(.status(status, isRetryable: isRetryable, keyStyle: keyStyle, valueStyle: valueStyle))
    }

    public static func json(_ text: String, httpStatus: Int = 200) -> SimulatedStep {
        SimulatedStep(.json(text, httpStatus: httpStatus))
    }

    public static func http(_ status: Int, headers: [String: String] = [:], body: String = "") -> SimulatedStep {
        SimulatedStep(.http(status, headers: headers, body: body))
    }

    /// - Parameter milliseconds: the time between two chunks.
    public static func slowDrip(milliseconds: Int, chunkBytes: Int = 64) -> SimulatedStep {
        SimulatedStep(.slowDrip(milliseconds: milliseconds, chunkBytes: chunkBytes))
    }

    public static func delay(milliseconds: Int, then step: SimulatedStep) -> SimulatedStep {
        var step = step
        step.delayMilliseconds += milliseconds
        return step
    }
}
