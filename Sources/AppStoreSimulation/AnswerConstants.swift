/// Made-up numbers for some fields of Apple's answers. No client may rely on these fields.
enum AnswerConstants {
    static let downloadID: Int64 = 501_821_354_355_307_772
    static let versionExternalID: Int64 = 857_715_110
    static let itemID: Int64 = 534_185_042
}
