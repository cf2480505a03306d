import { type HOST_CAUSES } from '#manager/contract'
import { type Translation } from '../message-types.ts'

/** Causes that agents report about their hosts, by key. English is the agent's text (`manager/contract/host-causes.ts`). */
export default {
  start_up_script_runs: '시작 스크립트가 아직 실행 중입니다. 끝나면 앱이 시작됩니다. 출력은 세션의 로그에 있습니다.',
} satisfies Translation<typeof HOST_CAUSES>
