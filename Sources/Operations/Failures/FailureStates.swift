/// The failures of parts, and the notices about them. A notice is due at a part's first failure, each minute while the
/// failure lasts, and after its end. Times are monotonic seconds, which the caller passes.
struct FailureStates {
    /// The seconds between two notices about a failure that lasts.
    static let repeatSeconds = 60.0
    /// An episode is over after this many seconds without a failure. If the first success ended the episode, a part
    /// that fails now and then would fill the log.
    static let quietSeconds = 10.0
    /// A failing part makes the process unready after this many seconds without a success. A short failure, such as a
    /// deadlock, leaves the process ready.
    static let unreadySeconds = 5.0

    /// The failures of a part, from the first failure until `quietSeconds` have passed since the last failure.
    struct Episode: Equatable {
        let began: Double
        var count = 0
        var latest: FailureDescription
        var latestAt: Double
        /// The time of the first failure since the last success; nil if the part has succeeded since its last failure.
        var failingSince: Double?
        var toldAt: Double
    }

    struct Notice: Equatable {
        enum Kind {
            case began, lasts, over
        }

        let kind: Kind
        let part: FailingPart
        let failure: FailureDescription
        let seconds: Double
        let count: Int
    }

    private(set) var episodes: [FailingPart: Episode] = [:]
    /// The number of episodes so far, including those that are not over.
    private(set) var begun: [FailingPart: Int] = [:]

    mutating func failed(_ part: FailingPart, _ failure: FailureDescription, now: Double) -> Notice? {
        let isNew = episodes[part] == nil
        if isNew { begun[part, default: 0] += 1 }
        var episode = episodes[part] ?? Episode(began: now, latest: failure, latestAt: now, toldAt: now)
        episode.count += 1
        episode.latest = failure
        episode.latestAt = now
        episode.failingSince = episode.failingSince ?? now
        episodes[part] = episode
        return isNew ? notice(.began, part, episode, until: now) : nil
    }

    mutating func recovered(_ part: FailingPart) {
        episodes[part]?.failingSince = nil
    }

    /// Returns the notices that are due now. `Failures` calls this function about every second.
    mutating func notices(now: Double) -> [Notice] {
        var notices: [Notice] = []
        for part in FailingPart.allCases {
            guard let episode = episodes[part] else { continue }
            if episode.failingSince == nil {
                guard now - episode.latestAt >= Self.quietSeconds else { continue }
                episodes[part] = nil
                notices.append(notice(.over, part, episode, until: episode.latestAt))
            } else if now - episode.toldAt >= Self.repeatSeconds {
                episodes[part]?.toldAt = now
                notices.append(notice(.lasts, part, episode, until: now))
            }
        }
        return notices
    }

    private func notice(
        _ kind: Notice.Kind, _ part: FailingPart, _ episode: Episode, until end: Double
    ) -> Notice {
        Notice(kind: kind, part: part, failure: episode.latest, seconds: end - episode.began, count: episode.count)
    }

    /// Returns a clause for each part that makes the process unready.
    func unmet(now: Double) -> [String] {
        clauses(now: now) { part, episode in
            part.isNeeded && episode.failingSince.map { now - $0 >= Self.unreadySeconds } ?? false
        }
    }

    /// Returns a clause for each failing part that does not make the process unready.
    func notes(now: Double) -> [String] {
        clauses(now: now) { part, episode in
            !part.isNeeded || episode.failingSince.map { now - $0 < Self.unreadySeconds } ?? true
        }
    }

    private func clauses(now: Double, where isWanted: (FailingPart, Episode) -> Bool) -> [String] {
        FailingPart.allCases.compactMap { part in
            guard let episode = episodes[part], isWanted(part, episode) else { return nil }
            let seconds = Int(now - episode.began)
            let times = episode.count == 1 ? "once" : "\(episode.count) times"
            return "\(part.complaint): \(episode.latest.text) (\(part.rawValue), for \(seconds) s, \(times))"
        }
    }
}
