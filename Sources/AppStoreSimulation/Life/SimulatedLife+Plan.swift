extension SimulatedLife {
    /// The settings of a simulated life: its players, its length and the players' habits.
    public struct Plan: Sendable {
        public var players = 40
        public var days = 30
        /// The length of one simulated day in real milliseconds. With 2000 a month takes a minute.
        public var dayMilliseconds: Int64 = 86_400_000
        public var seed: UInt64 = 1
        public var environment = SimulatedEnvironment.production
        /// The share of players whose purchases have an account token.
        public var tokenShare = 0.8
        /// The share of players who are family members, with subscriptions that somebody else bought.
        public var familyShare = 0.05
        /// The share of renewals for which Apple's first charge fails.
        public var failureShare = 0.15
        /// The share of visits at which a player asks Apple to refund a purchase.
        public var refundShare = 0.05
        private let bundleID: String
        private let appAppleID: Int64

        public init(bundleID: String = "com.example.castle", appAppleID: Int64 = 1_450_000_001) {
            self.bundleID = bundleID
            self.appAppleID = appAppleID
        }

        /// The days for which the App Store tries to charge for a renewal. Apple tries for 60 days. The simulation
        /// tries for fewer days, so that a simulated month shows the end of the tries.
        static let retryDays = 16.0

        /// The app. The ids of its products begin with its bundle id.
        var app: SimulatedApp {
            func plan(days: Int64, graceDays: Int64) -> SimulatedPlan {
                SimulatedPlan(
                    groupID: "21000001", periodMilliseconds: days * dayMilliseconds,
                    graceMilliseconds: graceDays * dayMilliseconds)
            }
            return SimulatedApp(
                bundleID: bundleID, appAppleID: appAppleID,
                products: [
                    SimulatedProduct(id: "\(bundleID).gems.100", price: .init(milliunits: 990)),
                    SimulatedProduct(id: "\(bundleID).gems.1200", price: .init(milliunits: 9990)),
                    SimulatedProduct(id: "\(bundleID).builder", kind: .nonConsumable),
                    SimulatedProduct(
                        id: Self.week(bundleID), plan: plan(days: 7, graceDays: 3), price: .init(milliunits: 1990)),
                    SimulatedProduct(
                        id: Self.month(bundleID), plan: plan(days: 30, graceDays: 6), price: .init(milliunits: 7990)),
                ])
        }

        static func week(_ bundleID: String) -> String { "\(bundleID).vip.week" }
        static func month(_ bundleID: String) -> String { "\(bundleID).vip.month" }
    }
}
