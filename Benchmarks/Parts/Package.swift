// swift-tools-version:6.2
import PackageDescription

// A package of its own, so that receiptd does not depend on the compared libraries.
let package = Package(
    name: "PartsBenchmark",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "receiptd", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.24.0"),
    ],
    targets: [
        .executableTarget(
            name: "PartsBenchmark",
            dependencies: [
                .product(name: "AppStoreSimulation", package: "receiptd"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Encodings", package: "receiptd"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "PooledHTTP", package: "receiptd"),
            ],
            path: "PartsBenchmark")
    ]
)
