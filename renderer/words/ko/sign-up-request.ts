import type en from '../en/sign-up-request.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '계정 요청',
  about: '관리자가 요청을 검토합니다. 결과는 메일로 알려 드립니다.',
  aboutNoMail: '관리자가 요청을 검토하고 비밀번호를 설정할 링크를 전해 드립니다.',
  domains: '다음 도메인의 주소만 가능: {domains}',
  note: '계정이 필요한 이유',
  noteHint: '관리자가 읽습니다. 쓰지 않아도 됩니다.',
  ask: '요청 보내기',
  confirmMailed:
    '이 주소의 계정이 아직 없으면 링크를 보내 드립니다. 24시간 안에 링크를 열어야 관리자가 요청을 볼 수 있습니다.',
  received: '요청을 받았습니다',
  waits: '이 주소의 계정이 아직 없으면 이제 관리자가 요청을 볼 수 있습니다.',
  confirmTitle: '요청 확인',
  confirmAbout: '이메일 주소를 확인하고 계정 요청을 관리자에게 보냅니다.',
  sent: '요청을 보냈습니다',
  sentAbout: '이제 관리자가 요청을 볼 수 있습니다. 결정되면 메일로 알려 드립니다.',
} as const satisfies Translation<typeof en>
