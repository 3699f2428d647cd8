import Dispatch
public import Logging
import Synchronization

/// Collects the failures of the parts that run by themselves. Each part reports its failures and its successes here.
/// This class logs and counts the failures. Readiness and the worker's page show them.
///
/// Any thread may call it. While nothing fails, the report of a success only loads one atomic.
public final class Failures: Sendable {
    private static let tickSeconds = 1.0

    private let metrics: ReceiptdMetrics?
    private let logger: Logger?
    private let now: @Sendable () -> Double
    private let states = Mutex(FailureStates())
    /// The set of parts whose failure is not over, one bit for each.
    private let ongoing = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - metrics: count the failures; nil counts none.
    ///   - logger: logs the failures; nil logs none.
    ///   - now: returns monotonic seconds.
    public init(
        metrics: ReceiptdMetrics? = nil, logger: Logger? = nil,
        now: @escaping @Sendable () -> Double = { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }
    ) {
        self.metrics = metrics
        self.logger = logger
        self.now = now
    }

    /// Reports that `part` failed and will retry. A `CancellationError` is no failure.
    public func failed(_ part: FailingPart, _ error: any Error) {
        guard !(error is CancellationError) else { return }
        let dependency = (error as? any DescribedError)?.failedDependency
        failed(part, FailureDescription(error), asOneOf: dependency)
    }

    public func failed(_ part: FailingPart, code: String? = nil, _ words: String) {
        failed(part, FailureDescription(code: code, words: words), asOneOf: nil)
    }

    /// Only counts a failure of `part`. The caller logs the failure.
    public func count(_ part: FailingPart) { metrics?.failures.with(part.rawValue).increment() }

    private func failed(_ part: FailingPart, _ failure: FailureDescription, asOneOf dependency: FailingPart?) {
        metrics?.failures.with(part.rawValue).increment()
        let told = dependency ?? part
        if told != part { metrics?.failures.with(told.rawValue).increment() }
        let now = now()
        let notice = states.withLock { states in
            let notice = states.failed(told, failure, now: now)
            _ = ongoing.bitwiseOr(told.bit, ordering: .sequentiallyConsistent)
            return notice
        }
        metrics?.failing.with(told.rawValue).set(true)
        if let notice { tell(notice) }
    }

    /// Reports that `part` succeeded. The part must call this after each success.
    public func recovered(_ part: FailingPart) {
        let bits = part.bit | (part.dependency?.bit ?? 0)
        guard ongoing.load(ordering: .relaxed) & bits != 0 else { return }
        states.withLock { states in
            states.recovered(part)
            if let dependency = part.dependency { states.recovered(dependency) }
        }
    }

    /// Returns the number of failures of `part` that were logged so far, and the number of those that are over.
    public func told(of part: FailingPart) -> (begun: Int, over: Int) {
        states.withLock { states in
            let begun = states.begun[part] ?? 0
            return (begun, begun - (states.episodes[part] == nil ? 0 : 1))
        }
    }

    /// Logs the notices that are due, until its task is cancelled.
    public func run() async {
        while !Task.isCancelled {
            tick()
            guard (try? await Task.sleep(for: .seconds(Self.tickSeconds))) != nil else { return }
        }
    }

    func tick() {
        guard ongoing.load(ordering: .relaxed) != 0 else { return }
        let now = now()
        let notices = states.withLock { states in
            let notices = states.notices(now: now)
            for notice in notices where notice.kind == .over {
                _ = ongoing.bitwiseAnd(~notice.part.bit, ordering: .sequentiallyConsistent)
                metrics?.failing.with(notice.part.rawValue).set(false)
            }
            return notices
        }
        for notice in notices { tell(notice) }
    }

    private func tell(_ notice: FailureStates.Notice) {
        guard let logger else { return }
        var fields: Logger.Fields = [.part: "\(notice.part.rawValue)", .detail: "\(notice.part.complaint)"]
        if notice.kind != .began {
            fields[.durationSeconds] = .stringConvertible(notice.seconds)
            fields[.count] = .stringConvertible(notice.count)
        }
        if notice.kind != .over { fields.merge(notice.failure.fields) { own, _ in own } }
        switch notice.kind {
        case .began: logger.warning("a part of the process fails", fields)
        case .lasts: logger.warning("a part of the process still fails", fields)
        case .over: logger.notice("a part of the process works again", fields)
        }
    }

    /// A clause for each reason why the process is not ready.
    public var unmet: [String] {
        guard ongoing.load(ordering: .relaxed) != 0 else { return [] }
        let now = now()
        return states.withLock { $0.unmet(now: now) }
    }

    /// Clauses about parts that fail without making the process unready, about apps that wait for an operator, and
    /// about records lost within the last day.
    public var notes: [String] {
        let others = metrics.map { $0.misconfiguration.sentences + $0.incidents.losses() } ?? []
        guard ongoing.load(ordering: .relaxed) != 0 else { return others }
        let now = now()
        return states.withLock { $0.notes(now: now) } + others
    }
}

extension FailingPart {
    fileprivate var bit: UInt64 {
        // There must be at most 64 parts, because each part has a bit.
        1 << UInt64(Self.allCases.firstIndex(of: self) ?? 63)
    }
}
