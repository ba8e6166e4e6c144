//! The message expansion of a stream's following blocks, in parts that go between its rounds.

/// Part `$n` of computing four rows of W and W' with AVX-512: a row is done in four parts, which
/// follow rounds 4 n + 3. The stack holds the address of the first row's W_(j-16).
macro_rules! avx512_part {
    (0) => { avx512_part!(@first "0") };
    (1) => { avx512_part!(@second) };
    (2) => { avx512_part!(@third "0") };
    (3) => { avx512_part!(@fourth "0") };
    (4) => { avx512_part!(@first "1") };
    (5) => { avx512_part!(@second) };
    (6) => { avx512_part!(@third "1") };
    (7) => { avx512_part!(@fourth "1") };
    (8) => { avx512_part!(@first "2") };
    (9) => { avx512_part!(@second) };
    (10) => { avx512_part!(@third "2") };
    (11) => { avx512_part!(@fourth "2") };
    (12) => { avx512_part!(@first "3") };
    (13) => { avx512_part!(@second) };
    (14) => { avx512_part!(@third "3") };
    (15) => { avx512_part!(@fourth "3") };
    // W_(j-16) ^ W_(j-9) ^ (W_(j-3) <<< 15)
    (@first $row:literal) => {
        concat!(
            "mov r11, qword ptr [rsp + 8]\n",
            "vprold zmm16, zmmword ptr [r11 + 64 * (", $row, " + 13)], 15\n",
            "vmovdqa64 zmm17, zmmword ptr [r11 + 64 * ", $row, "]\n",
            "vpternlogd zmm16, zmm17, zmmword ptr [r11 + 64 * (", $row, " + 7)], 0x96\n",
        )
    };
    // P_1
    (@second) => {
        "vprold zmm17, zmm16, 15\n vprold zmm18, zmm16, 23\n vpternlogd zmm16, zmm17, zmm18, 0x96\n"
    };
    // ^ (W_(j-13) <<< 7) ^ W_(j-6)
    (@third $row:literal) => {
        concat!(
            "mov r11, qword ptr [rsp + 8]\n",
            "vprold zmm17, zmmword ptr [r11 + 64 * (", $row, " + 3)], 7\n",
            "vpternlogd zmm16, zmm17, zmmword ptr [r11 + 64 * (", $row, " + 10)], 0x96\n",
            "vmovdqa64 zmmword ptr [r11 + 64 * (", $row, " + 16)], zmm16\n",
        )
    };
    // W'_(j-4)
    (@fourth $row:literal) => {
        concat!(
            "mov r11, qword ptr [rsp + 8]\n",
            "vpxord zmm16, zmm16, zmmword ptr [r11 + 64 * (", $row, " + 12)]\n",
            "vmovdqa64 zmmword ptr [r11 + 64 * (", $row, " + 80 + 12)], zmm16\n",
        )
    };
}

/// As `avx512_part`, with AVX2, for eight rows; ymm5 holds the byte shuffle of a rotation by 8.
macro_rules! avx2_part {
    (0) => { avx2_part!(@first "0") };
    (1) => { avx2_part!(@second "0") };
    (2) => { avx2_part!(@first "1") };
    (3) => { avx2_part!(@second "1") };
    (4) => { avx2_part!(@first "2") };
    (5) => { avx2_part!(@second "2") };
    (6) => { avx2_part!(@first "3") };
    (7) => { avx2_part!(@second "3") };
    (8) => { avx2_part!(@first "4") };
    (9) => { avx2_part!(@second "4") };
    (10) => { avx2_part!(@first "5") };
    (11) => { avx2_part!(@second "5") };
    (12) => { avx2_part!(@first "6") };
    (13) => { avx2_part!(@second "6") };
    (14) => { avx2_part!(@first "7") };
    (15) => { avx2_part!(@second "7") };
    // x = W_(j-16) ^ W_(j-9) ^ (W_(j-3) <<< 15), and x ^ (x <<< 8)
    (@first $row:literal) => {
        concat!(
            "mov r11, qword ptr [rsp + 8]\n",
            "vmovdqa ymm0, ymmword ptr [r11 + 32 * (", $row, " + 13)]\n",
            "vpslld ymm1, ymm0, 15\n",
            "vpsrld ymm0, ymm0, 17\n",
            "vpxor ymm1, ymm1, ymmword ptr [r11 + 32 * ", $row, "]\n",
            "vpxor ymm0, ymm0, ymmword ptr [r11 + 32 * (", $row, " + 7)]\n",
            "vpxor ymm0, ymm0, ymm1\n",
            "vpshufb ymm1, ymm0, ymm5\n",
            "vpxor ymm1, ymm1, ymm0\n",
        )
    };
    // P_1(x) ^ (W_(j-13) <<< 7) ^ W_(j-6), and W'_(j-4)
    (@second $row:literal) => {
        concat!(
            "mov r11, qword ptr [rsp + 8]\n",
            "vpslld ymm2, ymm1, 15\n",
            "vpsrld ymm1, ymm1, 17\n",
            "vmovdqa ymm3, ymmword ptr [r11 + 32 * (", $row, " + 3)]\n",
            "vpxor ymm0, ymm0, ymm2\n",
            "vpslld ymm2, ymm3, 7\n",
            "vpsrld ymm3, ymm3, 25\n",
            "vpxor ymm0, ymm0, ymm1\n",
            "vpxor ymm2, ymm2, ymm3\n",
            "vpxor ymm0, ymm0, ymmword ptr [r11 + 32 * (", $row, " + 10)]\n",
            "vpxor ymm0, ymm0, ymm2\n",
            "vmovdqa ymmword ptr [r11 + 32 * (", $row, " + 16)], ymm0\n",
            "vpxor ymm0, ymm0, ymmword ptr [r11 + 32 * (", $row, " + 12)]\n",
            "vmovdqa ymmword ptr [r11 + 32 * (", $row, " + 80 + 12)], ymm0\n",
        )
    };
}
