import type en from '../en/desktop-warnings.ts'
import { type Translation } from '../message-types.ts'

export default {
  signInNotKept:
    'Berth를 종료할 때까지만 로그인이 유지됩니다. 이 컴퓨터의 자격 증명 저장소를 쓸 수 없습니다({why}). 로그인을 유지하려면 저장소를 잠금 해제하거나 설정한 뒤 다시 로그인하세요.',
  partlyIsolated:
    '이 컴퓨터의 세션이 이 컴퓨터와 그 네트워크에 접근할 수 있습니다. {why} 해결될 때까지 신뢰하는 코드만 실행하세요.',
  showAgents: '에이전트 보기',
} satisfies Translation<typeof en>
