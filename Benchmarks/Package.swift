// swift-tools-version:6.1
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "receiptd", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.24.0"),
    ],
    targets: [
        .executableTarget(
            name: "PipelineBenchmark",
            dependencies: [
                .product(name: "AppStoreSimulation", package: "receiptd"),
                .product(name: "AppleProofs", package: "receiptd"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "EmbeddedPostgres", package: "receiptd"),
                .product(name: "Kafka", package: "receiptd"),
            ]),
        // The parts of our own beside the libraries they take the place of.
        .executableTarget(
            name: "PartsBenchmark",
            dependencies: [
                .product(name: "AppStoreSimulation", package: "receiptd"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Encodings", package: "receiptd"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "PooledHTTP", package: "receiptd"),
            ]),
    ]
)
