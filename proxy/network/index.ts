export { environmentNetwork, fetchByEnvironment, usePins } from './environment-network.ts'
export { environmentWays } from './environment-ways.ts'
export { createNetwork, type Fetch, type Network } from './network.ts'
export { parsePacAnswer } from './pac-answer.ts'
