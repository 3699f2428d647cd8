/// A feature that a random history may have. Each history has a random half of the features switched off (swarm
/// testing). A feature that is always on would hide faults that occur only without this feature.
enum Feature: String, CaseIterable, Sendable {
    // These features are about purchases.
    case quantities, nonConsumables, subscriptions, familySharing
    case restores, renewals, upgrades, conversions, endings, trials, seats, preferences
    // These features are about Apple's refunds and announcements.
    case refunds, parts, reversals, refundRequests, finishes
    case lostNews, doubledNews, lateNews, askedHistory
    // These features are about submissions.
    case thieves, forgeries, foreignProofs, signedTransactions, bareIDs, oldReceipts, oddFacts, staleProofs
    case hints, tokens, wrongTimes, repeats, unsubmitted, unknownProducts, boundAccounts, crowds, malformed
    // These features are about the surroundings: workers, Apple, the database, the broker and operators.
    case kills, freezes, secondWorker, stops
    case slowApple, failingApple, emptyAnswers, unknownAtApple, hopelessReceipts, awayApple, limitingApple
    case putBacks, cuts, hangs, brokerTrouble
    case operators, transfers, catalogChanges, erasures, redrives, dailyLimits, unlistedPurchases,
        changedPolicies, oldPurchases
    // These features are about the passing of time.
    case longWaits, shortWaits

    /// The features that disturb workers, Apple, the database and the broker.
    static let faults: Set<Feature> = [
        .kills, .freezes, .secondWorker, .stops, .slowApple, .failingApple, .emptyAnswers, .unknownAtApple,
        .hopelessReceipts, .awayApple, .limitingApple, .putBacks, .cuts, .hangs, .brokerTrouble, .crowds,
    ]
}

/// Two features that occur in one history.
struct FeaturePair: Hashable, Sendable {
    let first: Feature
    let second: Feature

    static func all(of features: Set<Feature>) -> Set<FeaturePair> {
        let sorted = features.sorted { $0.rawValue < $1.rawValue }
        var pairs: Set<FeaturePair> = []
        for (index, first) in sorted.enumerated() {
            for second in sorted.dropFirst(index + 1) { pairs.insert(FeaturePair(first: first, second: second)) }
        }
        return pairs
    }

    static let count = Feature.allCases.count * (Feature.allCases.count - 1) / 2
}
