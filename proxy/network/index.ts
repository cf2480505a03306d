export { environmentNetwork, fetchByEnvironment } from './environment-network.ts'
export { createNetwork, type Fetch, type Network } from './network.ts'
export { parsePacAnswer } from './pac-answer.ts'
