/// Made-up numbers for fields of Apple's answers that no client may rely on.
enum AnswerConstants {
    static let downloadID: Int64 = 501_821_354_355_307_772
    static let versionExternalID: Int64 = 857_715_110
    static let itemID: Int64 = 534_185_042
}
