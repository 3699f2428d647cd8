extension Evidence {
    /// The seconds after a fault's end within which the worker must reach full speed.
    static let recoverySeconds = 30.0
    /// The limit for a debug build's memory, which is higher than a release build's.
    static let memoryMegabytes = 512

    /// First events of one player's submissions are in the submissions' order: all but those answered without Apple
    /// and those that were parked.
    func disorder() -> [String] {
        var first: [String: Int64] = [:]
        for event in events where first[event.submissionID] == nil { first[event.submissionID] = event.offset }
        var problems: [String] = []
        var latest: [String: (submission: String, offset: Int64)] = [:]
        var seen: Set<String> = []
        for record in plan.records {
            guard let id = record.submissionID, plan.truths[id]?.isLocal == false, !everParked.contains(id),
                seen.insert(id).inserted, let offset = first[id]
            else { continue }
            if let before = latest[record.playerID], before.offset > offset {
                problems.append("\(record.playerID): \(id) was answered before \(before.submission)")
            }
            latest[record.playerID] = (id, offset)
        }
        return problems
    }

    func appleTroubled() -> [String] {
        var problems: [String] = []
        if load.highestAppleConcurrency > load.appleConcurrencyLimit {
            problems.append(
                "Apple was asked \(load.highestAppleConcurrency) times at once, not \(load.appleConcurrencyLimit)")
        }
        for quiet in load.quiets {
            let seen = requests.count { $0.milliseconds > quiet.from && $0.milliseconds < quiet.until }
            if seen > quiet.requests {
                problems.append(
                    "\(quiet.name): \(seen) requests within \(quiet.until - quiet.from) ms, at most \(quiet.requests)")
            }
        }
        return problems
    }

    func unbounded() -> [String] {
        var problems: [String] = []
        if monitor.highestMemoryMegabytes > Self.memoryMegabytes {
            problems.append("a worker took \(monitor.highestMemoryMegabytes) MB")
        }
        if load.highestInFlight > load.inFlightLimit {
            problems.append("\(load.highestInFlight) were in flight, not \(load.inFlightLimit)")
        }
        problems += progress.stalls
        for recovery in progress.recoveries where recovery.seconds.map({ $0 > Self.recoverySeconds }) ?? true {
            problems.append(
                "after \(recovery.fault) full speed came "
                    + (recovery.seconds.map { "only after \(Int($0)) s" } ?? "not within the time given"))
        }
        return problems
    }

    /// A 429 allows this much: until its `Retry-After` is over nobody asks, but for requests under way and for the
    /// moment that it takes to tell the other replicas. Milliseconds.
    /// - Parameter until: where all were told the same end; else each counts by itself.
    mutating func expectQuiet(
        afterLimitsSince start: Int64, through end: Int64, retryAfter milliseconds: Int64, until: Int64? = nil
    ) {
        let grace: Int64 = 1500
        // An HTTP date has no fractions.
        let rounding: Int64 = 1100
        for request in requests
        where request.answer == "http_429" && request.milliseconds >= start && request.milliseconds <= end {
            let over = (until ?? request.milliseconds + milliseconds) - rounding
            guard over > request.milliseconds + grace else { continue }
            load.quiets.append(
                Quiet(
                    from: request.milliseconds + grace, until: over, requests: 0,
                    name: "after a 429 with Retry-After"))
        }
    }
}
