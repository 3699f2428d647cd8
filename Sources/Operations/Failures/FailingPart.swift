/// A part that runs by itself and can fail: the `part` of log lines and of `receiptd_failures_total`.
public enum FailingPart: String, CaseIterable, Sendable {
    // The dependencies of the other parts. A lost connection is logged once, under one of these names, even if
    // several parts notice it.
    case postgresql, kafka
    /// Kafka's description of the topics that receiptd needs. `optionalTopics` has the topics that it can do without.
    case topics
    case optionalTopics = "optional_topics"

    // The work of the ledger's writers and its reader.
    case decisions, recall, acknowledgements, parking
    // The loops.
    case parked, holds, outbox, offsets, commits, consumer, publisher, notifications, accounts, announced, catalog
    /// The owners of published purchases, entered again after a fall back of the database lost them.
    case claims
    case counts, maintenance, subscriptions, finishes, consumption
    case refundRequests = "refund_requests"
    case history = "notification_history"
    case appleBudget = "apple_budget"
    /// The comparison of this process's clock with others. A difference is a failure.
    case clocks
    case traffic
    case incidents
    case console

    /// The meaning of this part's errors, for people.
    public var complaint: String {
        switch self {
        case .postgresql: "PostgreSQL is out of reach"
        case .kafka: "Kafka is out of reach"
        case .topics: "topics cannot be used"
        case .optionalTopics: "optional topics cannot be used"
        case .decisions: "decisions cannot be written to PostgreSQL"
        case .recall: "earlier outcomes cannot be looked up"
        case .acknowledgements: "published events cannot be taken out of the outbox"
        case .parking: "submissions cannot be parked"
        case .parked: "parked submissions cannot be retried"
        case .holds: "held transactions cannot be decided"
        case .outbox: "the outbox cannot be swept"
        case .offsets: "offsets cannot be checkpointed in PostgreSQL"
        case .commits: "offsets cannot be committed in Kafka"
        case .consumer: "submissions cannot be read"
        case .publisher: "events cannot be published"
        case .notifications: "notifications cannot be read or stored"
        case .history: "Apple's notification history cannot be read or stored"
        case .subscriptions: "subscriptions cannot be looked up or checked"
        case .accounts: "players' accounts cannot be read or stored"
        case .announced: "announced purchases cannot be delivered"
        case .finishes: "deliveries to report to Apple cannot be leased"
        case .refundRequests: "refund requests cannot be leased"
        case .consumption: "the game's reports of consumption cannot be read or stored"
        case .catalog: "the newest catalog cannot be loaded"
        case .claims: "owners of published purchases cannot be restored after PostgreSQL fell back"
        case .counts: "the fleet's backlog cannot be counted"
        case .maintenance: "the tables cannot be maintained"
        case .appleBudget: "the shared budget of requests to Apple cannot be used"
        case .clocks: "clocks disagree"
        case .traffic: "traffic cannot be counted for the console"
        case .incidents: "incidents cannot be stored or counted in PostgreSQL"
        case .console: "the console cannot answer"
        }
    }

    /// Whether its failure makes the process unready. The others are only listed in `/readyz`.
    public var isNeeded: Bool {
        switch self {
        case .postgresql, .kafka, .topics, .decisions, .recall, .parking, .offsets, .publisher, .claims: true
        case .optionalTopics, .acknowledgements, .parked, .holds, .outbox, .commits, .consumer, .notifications,
            .accounts, .announced,
            .subscriptions, .catalog, .counts, .maintenance, .finishes, .refundRequests, .consumption, .history,
            .appleBudget, .clocks, .traffic, .incidents, .console:
            false
        }
    }

    /// The dependency that a success of this part shows to be in reach.
    var dependency: FailingPart? {
        switch self {
        case .postgresql, .kafka, .clocks: nil
        case .decisions, .recall, .acknowledgements, .parking, .parked, .holds, .outbox, .offsets, .notifications,
            .accounts, .announced, .subscriptions, .catalog, .counts, .maintenance, .finishes, .refundRequests,
            .consumption, .history, .appleBudget, .traffic, .incidents, .console, .claims:
            .postgresql
        case .topics, .optionalTopics, .commits, .consumer, .publisher: .kafka
        }
    }
}
