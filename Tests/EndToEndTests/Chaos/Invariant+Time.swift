extension Evidence {
    /// The seconds after a fault's end in which the worker must reach its full speed.
    static let recoverySeconds = 30.0
    /// The most memory that a worker of a debug build may use. A release build uses less.
    static let memoryMegabytes = 512

    /// Returns the violations of the players' order. The first events of a player's submissions must come in the order
    /// of the submissions. Local answers and submissions that were ever parked are exempt.
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
            let seen = requests.count {
                $0.api == quiet.api && $0.milliseconds > quiet.from && $0.milliseconds < quiet.until
            }
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

    /// Adds the expectation that no request is sent to an endpoint between the endpoint's 429 and the end of
    /// `Retry-After`. A grace period allows for requests under way, and for the time in which other replicas learn of
    /// the 429. All times are in milliseconds.
    /// - Parameter until: the end that every 429 names; nil if each 429 has its own end.
    mutating func expectQuiet(
        afterLimitsSince start: Int64, through end: Int64, retryAfter milliseconds: Int64, until: Int64? = nil
    ) {
        let grace: Int64 = 1500
        // An HTTP date has only whole seconds.
        let rounding: Int64 = 1100
        for request in requests
        where request.answer == "http_429" && request.milliseconds >= start && request.milliseconds <= end {
            let over = (until ?? request.milliseconds + milliseconds) - rounding
            guard over > request.milliseconds + grace else { continue }
            load.quiets.append(
                Quiet(
                    from: request.milliseconds + grace, until: over, api: request.api, requests: 0,
                    name: "after a 429 with Retry-After"))
        }
    }
}
