// swift-tools-version:6.1
import PackageDescription

// The parsers are compiled here once more, from links to their sources: with the fuzzer's counters, with the address
// sanitizer, and without what they do not need. An optimised build, since a debug build would try a tenth as much.
let instrumented: [SwiftSetting] = [
    .unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing", "-warnings-as-errors"]),
    .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", "4.0.0"..<"5.0.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.0.0"),
    ],
    targets: [
        .target(
            name: "Fulfillment",
            dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: instrumented),
        .target(
            name: "AppleProofs",
            dependencies: [
                "Fulfillment",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: instrumented),
        .target(
            name: "AppStore",
            dependencies: ["Fulfillment"],
            sources: [
                "GenuineReceipt+VerifyReceipt.swift", "HTTPDate.swift", "LenientField.swift", "PurchaseFields.swift",
                "RetryAfter.swift", "VerifyReceiptAnswer.swift",
            ],
            swiftSettings: instrumented),
        // The reading of YAML, catalogs and lists of Kafka's properties.
        .target(
            name: "Configuration",
            dependencies: ["Fulfillment", .product(name: "Yams", package: "Yams")],
            sources: [
                "Catalog", "Settings/AliasFlood.swift", "Settings/BoundedFile.swift",
                "Settings/KafkaPropertyList.swift",
                "Settings/RepeatedKeys.swift", "Settings/SettingName.swift", "Settings/ShownText.swift",
                "Settings/YAMLDocument.swift", "Settings/YAMLNode.swift", "Settings/YAMLParsing.swift",
            ],
            swiftSettings: instrumented),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "AppStore", "AppleProofs", "Configuration", "Fulfillment",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: instrumented,
            linkerSettings: [.unsafeFlags(["-sanitize=address", "-use-ld=lld"]), .linkedLibrary("stdc++")]),
    ]
)
