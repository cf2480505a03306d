import type en from '../en/idle.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '계속 사용하고 계신가요?',
  text: '이 브라우저를 한동안 사용하지 않았습니다. {time} 후에 로그아웃됩니다. 화면은 그대로 유지되고 세션은 계속 실행되므로 잃는 것은 없습니다.',
  stay: '로그인 유지',
  signOut: '지금 로그아웃',
} satisfies Translation<typeof en>
