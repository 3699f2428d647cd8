/// Due times by PostgreSQL's clock, which may have been ahead when they were written.
enum DueTimes {
    /// Nothing is put off for longer: the longest delay that an operator may set is a day. Seconds.
    static let farthestSeconds = 25.0 * 3600
    /// Rows that are made due in one look.
    static let mendedAtATime: Int64 = 1_000
}
