/** Exports for the command line, which serves the tools over its standard streams. */
export { createMcpServer, type McpOptions, refusalOf, TOOLS } from './server.ts'
export { type Reach } from './tool.ts'
