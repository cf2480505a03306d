/**
 * The part of the contract that loads without the schemas. For a program that is started for every connection of ssh: the
 * schemas take longer to load than all the rest of its work. `test/integration/cli/stdio.test.ts` checks what it loads.
 */
export * from './call-route.ts'
export { type ADMINISTRATION_CAUSES } from './administration-causes.ts'
export { type AGENT_CAUSES } from './agent-causes.ts'
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
} from './causes.ts'
export { type DOCTOR_CAUSES } from './doctor-causes.ts'
export * from './errors.ts'
export * from './grant-calls.ts'
export { type HOST_CAUSES } from './host-causes.ts'
export { type LOCAL_CAUSES } from './local-causes.ts'
export { isSessionId } from './is-session-id.ts'
export { type SESSION_CAUSES } from './session-causes.ts'
export * from './sftp.ts'
export * from './sign-request.ts'
export * from './tunnel/index.ts'
