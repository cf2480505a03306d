/**
 * The part of the contract that loads no schemas. It is for a program that ssh starts for every connection: loading the schemas takes
 * longer than all its other work. `test/integration/cli/stdio.test.ts` checks what it loads.
 */
export * from './client/call-route.ts'
export * from './sessions/command-stream.ts'
export { type ADMINISTRATION_CAUSES } from './causes/administration.ts'
export { type AGENT_CAUSES } from './causes/agent.ts'
export {
  because,
  type Because,
  becauseOf,
  causeIn,
  type CauseKey,
  type CAUSES,
  type CauseSentence,
  inTurn,
  isCauseKey,
  together,
} from './causes/causes.ts'
export { type DOCTOR_CAUSES } from './causes/doctor.ts'
export * from './errors.ts'
export * from './apps/grant-calls.ts'
export { type HOST_CAUSES } from './causes/host.ts'
export { type LOCAL_CAUSES } from './causes/local.ts'
export { isSessionId } from './sessions/is-session-id.ts'
export { type SESSION_CAUSES } from './causes/session.ts'
export * from './storage/sftp.ts'
export * from './client/sign-request.ts'
export { codeFor } from './identity/code-for.ts'
export { isToken } from './identity/token.ts'
export * from './tunnel/index.ts'
