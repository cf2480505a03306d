import type en from '../en/interruption.ts'
import { type Translation } from '../message-types.ts'

export default {
  in: '{time} 후 중단',
  now: '곧 중단됩니다',
  why: '우선순위가 높은 세션에 자리를 내줍니다. 파일과 대기열의 자리는 그대로이며, 나중에 이어서 실행됩니다. 작업을 저장하세요.',
} satisfies Translation<typeof en>
